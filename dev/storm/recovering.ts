// An endpoint with `recover: true` that fails until it is disabled, misses events, and recovers, over and over. The storm lets
// time pass for it: in MongoDB it raises the counter of failures, and makes the test delivery due.
import { setTimeout as wait } from 'node:timers/promises';
import { limits, type Webhook } from '@integration-sync/contracts';
import type { Store } from '@integration-sync/runtime/store';
import type { Random } from '../fuzz/random.ts';
import type { Caller } from './caller.ts';
import { clockMs } from './clock.ts';
import { within } from './faults.ts';
import type { LedgerFile } from './ledger.ts';
import type { ReplayLine } from './lines.ts';
import type { Receiving } from './receiver.ts';
import { unannouncedIn } from './settling.ts';

export interface Recovering {
  endpoint: string;
  receiving: Receiving;
  caller: Caller;
  store: Store;
  replays: LedgerFile<ReplayLine>;
  random: Random;
  stopped: AbortSignal;
}

const lookEveryMs = 300;
/** A receiver's turn may come late, behind a backlog; faults last for a minute at most. */
const looksMax = 600;
const spanMs = [1_500, 4_000] as const;

interface Stored {
  _id: string;
  failures: number;
  recovery?: object;
}

/** Resolves once the endpoint is enabled after the storm. */
export async function letRecover(of: Recovering): Promise<void> {
  const { endpoint, receiving, caller, store, replays, random, stopped } = of;
  const collection = store.collection<Stored>('webhook_endpoints');
  const until = async (active: boolean, filter: object, update: object): Promise<void> => {
    for (let looks = 0; looks < looksMax; looks += 1) {
      const { outcome, body } = await caller.ask({ path: `/webhook-events/${endpoint}` });
      const webhook: Partial<Webhook> = outcome === 200 ? JSON.parse(body) : {};
      if (webhook.active === active) return;
      // MongoDB may be struck; the next round asks again.
      await collection.updateOne({ _id: endpoint, ...filter }, update).catch(() => undefined);
      await wait(lookEveryMs);
    }
    throw new Error(`the recovering endpoint ${endpoint} did not become ${active ? 'active' : 'disabled'}`);
  };
  const almost = limits.failuresBeforeDisabling - 1;
  while (!stopped.aborted) {
    await wait(within(random, spanMs), undefined, { signal: stopped }).catch(() => undefined);
    if (stopped.aborted) return;
    receiving.behaviour = 'dead';
    await until(false, { active: true, failures: { $lt: almost } }, { $set: { failures: almost } });
    replays.write({ endpoint, atMs: clockMs() });
    await wait(within(random, spanMs));
    // A real test comes 5 minutes later, when the events of every push from before it have long been published.
    const before = await unannouncedIn(store);
    while ((await unannouncedIn(store)).some((id) => before.includes(id))) await wait(lookEveryMs);
    receiving.behaviour = 'recovering';
    await until(true, { 'recovery.step': 'test' }, { $set: { 'recovery.dueAt': new Date() } });
    // It ends once missed events are sent and `webhook.enabled` is published.
    const isUnderWay = () => collection.findOne({ _id: endpoint, recovery: { $exists: true } });
    for (let looks = 0; looks < looksMax; looks += 1) {
      if ((await isUnderWay().catch(() => true)) === null) break;
      await wait(lookEveryMs);
    }
  }
}
