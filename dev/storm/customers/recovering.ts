// An endpoint with `recover: true` that is disabled, misses events, and recovers, over and over. A 410 disables it, and in the
// next round ten failures in a row, which take 73 s. If the storm ends before the tenth failure, its customer disables it. To
// save the recovery minutes of waiting, this file makes its test delivery due in MongoDB.
import { setTimeout as wait } from 'node:timers/promises';
import type { Webhook } from '@integration-sync/contracts';
import type { Store } from '@integration-sync/runtime/store';
import { clockMs, type LedgerFile } from '../ledger.ts';
import type { Lines } from '../lines.ts';
import { within } from '../fault.ts';
import type { Receiving } from '../receiver.ts';
import { unannouncedIn } from '../settling.ts';
import { until } from '../until.ts';
import { keepAll, type Customer } from './customer.ts';

export interface Recovering {
  endpoint: string;
  receiving: Receiving;
  store: Store;
  replays: LedgerFile<Lines['replays'][number]>;
}

interface Stored {
  _id: string;
  active: boolean;
  recovery?: object;
}

/** A delivery may come late, behind a backlog; faults last for a minute at most. */
const looks = { looksMax: 1_200 };
const spanMs = [1_500, 4_000] as const;

/** Resolves once the endpoint is enabled after the storm. */
export async function letRecover(customer: Customer, of: Recovering): Promise<void> {
  const { endpoint, receiving, store, replays } = of;
  const { random, stopped } = customer;
  const collection = store.collection<Stored>('webhook_endpoints');
  const path = `/webhook-events/${endpoint}`;
  const untilActive = async (active: boolean, meanwhile: () => Promise<unknown>): Promise<void> => {
    const isSo = await until(async () => {
      const { answer } = await customer.ask({ path }, (webhook: Webhook) => webhook.active);
      if (answer !== active) await meanwhile();
      return answer === active;
    }, looks);
    const become = `become ${active ? 'active' : 'disabled'}`;
    if (!isSo) throw new Error(`the recovering endpoint ${endpoint} did not ${become} within 6 minutes`);
  };
  const disable = async () =>
    stopped.aborted && (await customer.ask({ method: 'PATCH', path, body: { active: false } }, keepAll));
  const disabled = { _id: endpoint, active: false };
  // If MongoDB is away, the next check tries again. The first update begins the recovery if the customer disabled the endpoint.
  const makeDue = async (): Promise<void> => {
    const dueAt = new Date();
    const begun = { recovery: { step: 'test', replays: true, dueAt } };
    await collection.updateOne({ ...disabled, recovery: { $exists: false } }, { $set: begun });
    const due = { 'recovery.dueAt': dueAt };
    await collection.updateOne({ ...disabled, 'recovery.step': 'test' }, { $set: due });
  };
  for (let round = 0; !stopped.aborted; round += 1) {
    await customer.pause(spanMs);
    if (stopped.aborted) return;
    receiving.behaviour = round % 2 === 0 ? 'gone' : 'dead';
    await untilActive(false, disable);
    replays.write({ endpoint, atMs: clockMs() });
    await wait(within(random, spanMs));
    // In production, the test delivery comes after 5 minutes, when the events of all earlier pushes have long been published.
    const before = await unannouncedIn(store);
    await until(async () => !(await unannouncedIn(store)).some((id) => before.includes(id)), looks);
    receiving.behaviour = 'recovering';
    await untilActive(true, makeDue);
    // The recovery ends once missed events are sent and `webhook.enabled` is published.
    const underWay = { _id: endpoint, recovery: { $exists: true } };
    await until(async () => (await collection.findOne(underWay)) === null, looks);
  }
}
