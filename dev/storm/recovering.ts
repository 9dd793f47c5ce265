// An endpoint with `recover: true` that is disabled, misses events, and recovers, over and over: a 410 disables it, then ten failures
// in a row, which take 73 s, and so on. If the storm ends before the tenth, its caller disables it. The storm lets no time pass but
// for the recovery: in MongoDB it makes the test delivery due.
import { setTimeout as wait } from 'node:timers/promises';
import type { Webhook } from '@integration-sync/contracts';
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
const looksMax = 1_200;
const spanMs = [1_500, 4_000] as const;

interface Stored {
  _id: string;
  active: boolean;
  recovery?: object;
}

/** Resolves once the endpoint is enabled after the storm. */
export async function letRecover(of: Recovering): Promise<void> {
  const { endpoint, receiving, caller, store, replays, random, stopped } = of;
  const collection = store.collection<Stored>('webhook_endpoints');
  const path = `/webhook-events/${endpoint}`;
  const until = async (active: boolean, meanwhile: () => Promise<unknown>): Promise<void> => {
    for (let looks = 0; looks < looksMax; looks += 1) {
      const { outcome, body } = await caller.ask({ path });
      const webhook: Partial<Webhook> = outcome === 200 ? JSON.parse(body) : {};
      if (webhook.active === active) return;
      await meanwhile();
      await wait(lookEveryMs);
    }
    throw new Error(`the recovering endpoint ${endpoint} did not become ${active ? 'active' : 'disabled'}`);
  };
  const disable = async () =>
    stopped.aborted && (await caller.ask({ method: 'PATCH', path, body: { active: false } }));
  const makeDue = async () => {
    const disabled = { _id: endpoint, active: false };
    const recovery = { step: 'test', replays: true, dueAt: new Date() };
    // MongoDB may be struck; the next look asks again. Only failures begin a recovery by themselves.
    await collection
      .updateOne({ ...disabled, recovery: { $exists: false } }, { $set: { recovery } })
      .then(() =>
        collection.updateOne(
          { ...disabled, 'recovery.step': 'test' },
          { $set: { 'recovery.dueAt': new Date() } },
        ),
      )
      .catch(() => undefined);
  };
  for (let round = 0; !stopped.aborted; round += 1) {
    await wait(within(random, spanMs), undefined, { signal: stopped }).catch(() => undefined);
    if (stopped.aborted) return;
    receiving.behaviour = round % 2 === 0 ? 'gone' : 'dead';
    await until(false, disable);
    replays.write({ endpoint, atMs: clockMs() });
    await wait(within(random, spanMs));
    // A real test comes 5 minutes later, when the events of every push from before it have long been published.
    const before = await unannouncedIn(store);
    while ((await unannouncedIn(store)).some((id) => before.includes(id))) await wait(lookEveryMs);
    receiving.behaviour = 'recovering';
    await until(true, makeDue);
    // It ends once missed events are sent and `webhook.enabled` is published.
    const isUnderWay = () => collection.findOne({ _id: endpoint, recovery: { $exists: true } });
    for (let looks = 0; looks < looksMax; looks += 1) {
      if ((await isUnderWay().catch(() => true)) === null) break;
      await wait(lookEveryMs);
    }
  }
}
