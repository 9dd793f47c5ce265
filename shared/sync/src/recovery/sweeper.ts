// Looks, in every replica, for entries of the journal that no replica works on any more, and settles them; and for pushes
// that died before they had an entry, and closes what they opened.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Engine, KindEngine } from '../engine.ts';
import { closeForgotten } from './forgotten-pushes.ts';
import type { LeftBehind } from '../journal/journal-entry.ts';
import { settleEntry } from './recover.ts';

const everyMs = 5_000;
/** So that replicas that started together do not look together. */
const jitterMs = 1_000;
/** After an outage of the bus there may be thousands; this many are settled at once. */
const atOnce = 4;

export function startSweeper(engine: Engine, kinds: ReadonlyMap<string, KindEngine>): AsyncDisposable {
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));
  const makeAgain = (): Promise<void> =>
    engine.ensureEvents().catch((error: unknown) => {
      engine.log.error({ err: error }, 'the event stream cannot be made again, trying again later');
    });
  const sweepOn = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const well = await sweep(engine, kinds, stop.signal).catch((error: unknown) => {
        engine.log.warn({ err: error }, 'sweeping failed, trying again later');
        return true;
      });
      // A stream that is lost, as with all data of nats-server, would otherwise take no event any more.
      if (!well) await Promise.race([makeAgain(), stopped]);
      await closeForgotten(engine).catch((error: unknown) => {
        engine.log.warn({ err: error }, 'listings of pushes that died stay open');
      });
      await wait(everyMs + Math.random() * jitterMs, undefined, { signal: stop.signal }).catch(() => {});
    }
  };
  const sweeping = sweepOn();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await sweeping;
    },
  };
}

/** Until none is left. What fails is due again later, behind the others; false if something did. */
async function sweep(
  engine: Engine,
  kinds: ReadonlyMap<string, KindEngine>,
  stopping: AbortSignal,
): Promise<boolean> {
  let well = true;
  while (!stopping.aborted && engine.bus.connected) {
    const left = await engine.journal.leftBehind(new Date(engine.now()), atOnce);
    if (left.length === 0) return well;
    const settled = await Promise.all(left.map((one) => settle(engine, kinds, one)));
    well &&= settled.every(Boolean);
  }
  return well;
}

/** False if it is not settled yet, and due again later. */
async function settle(
  engine: Engine,
  kinds: ReadonlyMap<string, KindEngine>,
  left: LeftBehind,
): Promise<boolean> {
  const entry = await engine.journal.claim(left, randomUUID(), new Date(engine.now()));
  if (entry === undefined) return true;
  const { _id: syncId, state: found } = entry;
  try {
    const of = kinds.get(entry.entityType);
    if (of === undefined) throw new Error(`nothing is known of ${entry.entityType} here`);
    await settleEntry(engine, of, entry);
    if (entry.watched !== true) engine.metrics.recovered();
    engine.log.info({ syncId, found }, 'settled a push that was left behind');
    return true;
  } catch (error) {
    engine.log.warn({ err: error, syncId, found }, 'a push that was left behind could not be settled yet');
    return false;
  }
}
