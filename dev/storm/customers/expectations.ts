// Customers who expect pushes, each of an integration of its own. An expectation counts in hours, so its time of setting in MongoDB is
// moved back by nearly an hour. Then its customer pushes in the last second before it is due, or never.
import { setTimeout as wait } from 'node:timers/promises';
import type { Store } from '@integration-sync/runtime/store';
import { clockMs } from '../ledger.ts';
import { until } from '../until.ts';
import { keepAll, type Customer } from './customer.ts';

interface Stored {
  _id: string;
  setAt: Date;
  checkAt: Date;
  overdue?: { isAnnounced: boolean };
}

const hourMs = 60 * 60 * 1_000;
const dueInMs = 3_000;
/** How long to wait for an event: it comes within 60 s, and a fault lasts for a minute at most. */
const looks = { looksMax: 600 };
/** A false `sync.overdue` would come within this time, because a check runs 10 s after the due time. */
const silentMs = 15_000;

/** `open` opens the customer of a further integration. */
export async function expectPushes(open: (nth: number) => Customer, store: Store, pushes: boolean) {
  const collection = store.collection<Stored>('catalog_expectations');
  let customer = open(0);
  for (let nth = 1; !customer.stopped.aborted; nth += 1) {
    const { integration, random, note, ask } = customer;
    const _id = `${integration}/supplier`;
    await customer.insist(
      { method: 'PUT', path: '/expectations', body: { suppliers: { everyHours: 1 } } },
      keepAll,
    );
    const [dueMs, begunMs] = [Date.now() + dueInMs, clockMs()];
    const [setAt, checkAt] = [new Date(dueMs - hourMs), new Date(dueMs)];
    const setBack = { $set: { setAt, checkAt } };
    await until(async () => (await collection.updateOne({ _id }, setBack)).matchedCount > 0, looks);
    const sent = { dueAt: checkAt.toISOString() };
    note({ method: 'WRITE', path: '/expectations', sent, begunMs, endedMs: clockMs(), outcome: 200 });
    if (pushes) {
      await wait(Math.max(0, dueMs - Date.now() - 100 - random.integer(900)));
      // A push counts also where each of its items is refused.
      note(await ask({ method: 'POST', path: '/suppliers', body: { suppliers: [{}] } }, keepAll));
      await customer.pause([silentMs, silentMs]);
    } else {
      await until(async () => (await collection.findOne({ _id }))?.overdue?.isAnnounced === true, looks);
    }
    customer = open(nth);
  }
}
