// An endpoint with `recover: true` that is disabled, misses events, and recovers, over and over: a 410 disables it, then ten failures
// in a row, which take 73 s, and so on. If the storm ends before the tenth, its caller disables it. The storm lets no time pass but
// for the recovery: in MongoDB it makes the test delivery due.
import { setTimeout as wait } from 'node:timers/promises';
import type { Webhook } from '@integration-sync/contracts';
import type { Store } from '@integration-sync/runtime/store';
import type { Random } from '../fuzz/random.ts';
import type { Caller } from './caller.ts';
import { within } from './faults.ts';
import { clockMs, type LedgerFile } from './ledger.ts';
import type { ReplayLine } from './lines.ts';
import type { Receiving } from './receiver.ts';
import { pause, stopped } from './role.ts';
import { unannouncedIn } from './settling.ts';

export interface Recovering {
  endpoint: string;
  receiving: Receiving;
  caller: Caller;
  store: Store;
  replays: LedgerFile<ReplayLine>;
  random: Random;
}

interface Stored {
  _id: string;
  active: boolean;
  recovery?: object;
}

const lookEveryMs = 300;
/** A receiver's turn may come late, behind a backlog; faults last for a minute at most. */
const looksMax = 1_200;
const spanMs = [1_500, 4_000] as const;

/** Looks until it is so; resolves with false if it does not become so. */
async function until(isSo: () => Promise<boolean>): Promise<boolean> {
  for (let looks = 0; looks < looksMax; looks += 1) {
    if (await isSo()) return true;
    await wait(lookEveryMs);
  }
  return false;
}

/** Resolves once the endpoint is enabled after the storm. */
export async function letRecover(of: Recovering): Promise<void> {
  const { endpoint, receiving, caller, store, replays, random } = of;
  const collection = store.collection<Stored>('webhook_endpoints');
  const path = `/webhook-events/${endpoint}`;
  const untilActive = async (active: boolean, meanwhile: () => Promise<unknown>): Promise<void> => {
    const isSo = await until(async () => {
      const { outcome, body } = await caller.ask({ path });
      const webhook: Partial<Webhook> = outcome === 200 ? JSON.parse(body) : {};
      if (webhook.active !== active) await meanwhile();
      return webhook.active === active;
    });
    const become = `become ${active ? 'active' : 'disabled'}`;
    if (!isSo) throw new Error(`the recovering endpoint ${endpoint} did not ${become}`);
  };
  const disable = async () =>
    stopped.aborted && (await caller.ask({ method: 'PATCH', path, body: { active: false } }));
  const disabled = { _id: endpoint, active: false };
  // MongoDB may be struck; the next look asks again. Only failures begin a recovery by themselves.
  const makeDue = async (): Promise<void> => {
    const dueAt = new Date();
    const recovery = { step: 'test', replays: true, dueAt };
    await collection.updateOne({ ...disabled, recovery: { $exists: false } }, { $set: { recovery } });
    await collection.updateOne(
      { ...disabled, 'recovery.step': 'test' },
      { $set: { 'recovery.dueAt': dueAt } },
    );
  };
  for (let round = 0; !stopped.aborted; round += 1) {
    await pause(within(random, spanMs));
    if (stopped.aborted) return;
    receiving.behaviour = round % 2 === 0 ? 'gone' : 'dead';
    await untilActive(false, disable);
    replays.write({ endpoint, atMs: clockMs() });
    await wait(within(random, spanMs));
    // A real test comes 5 minutes later, when the events of every push from before it have long been published.
    const before = await unannouncedIn(store);
    await until(async () => !(await unannouncedIn(store)).some((id) => before.includes(id)));
    receiving.behaviour = 'recovering';
    await untilActive(true, () => makeDue().catch(() => undefined));
    // It ends once missed events are sent and `webhook.enabled` is published.
    const underWay = { _id: endpoint, recovery: { $exists: true } };
    await until(() =>
      collection.findOne(underWay).then(
        (found) => found === null,
        () => false,
      ),
    );
  }
}
