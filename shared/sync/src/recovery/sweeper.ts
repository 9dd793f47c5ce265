// Looks, in every replica, for entries of the journal that no replica works on any more, and settles them; and for pushes
// that died before they had an entry, and closes what they opened.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Engine, KindEngine } from '../engine.ts';
import type { LeftBehind } from '../journal/journal-recovery.ts';
import { settleEntry } from './recover.ts';

const everyMs = 5_000;
/** So that replicas that started together do not look together. */
const jitterMs = 1_000;
/** Where something could not be settled or announced: a cluster has elected a leader within seconds. */
const againMs = 1_000;
/** After an outage of the bus there may be thousands; this many are settled at once. */
const atOnce = 4;

export function startSweeper(engine: Engine, kinds: ReadonlyMap<string, KindEngine>): AsyncDisposable {
  const stop = new AbortController();
  let making: Promise<void> | undefined;
  /** A stream that is lost, as with all data of nats-server, would otherwise take no event any more. */
  const makeAgain = async (): Promise<void> => {
    await engine.ensureEvents().catch((error: unknown) => {
      if (!stop.signal.aborted)
        engine.log.error(
          { err: error },
          'EVENTS or EVENT_BATCHES is missing and could not be created, trying again',
        );
    });
    making = undefined;
  };
  const sweepOn = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const well = await sweep(engine, kinds, stop.signal).catch((error: unknown) => {
        engine.log.warn({ err: error }, 'sweeping failed, trying again later');
        return true;
      });
      // Asking takes as long as nats-server lets it take.
      if (!well && engine.bus.connected) making ??= makeAgain();
      await closeForgotten(engine).catch((error: unknown) => {
        engine.log.warn({ err: error }, 'listings of pushes that died stay open');
      });
      const pauseMs = well && !engine.announcer.isHindered ? everyMs : againMs;
      await wait(pauseMs + Math.random() * jitterMs, undefined, { signal: stop.signal }).catch(() => {});
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

/**
 * Until none is left, or one fails: that one is due again a little later, behind the others. False where some may be left,
 * as NATS takes no events.
 */
async function sweep(
  engine: Engine,
  kinds: ReadonlyMap<string, KindEngine>,
  stopping: AbortSignal,
): Promise<boolean> {
  while (!stopping.aborted) {
    if (!engine.bus.connected) return false;
    const left = await engine.journal.leftBehind(new Date(engine.now()), atOnce);
    if (left.length === 0) return true;
    const settled = await Promise.all(left.map((one) => settle(engine, kinds, one)));
    if (!settled.every(Boolean)) return false;
  }
  return true;
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
    await engine.journal.postpone(entry, new Date(engine.now())).catch((failure: unknown) => {
      engine.log.debug(
        { err: failure, syncId },
        'could not postpone an unfinished push: a sweeper takes it up again when its entry expires',
      );
    });
    return false;
  }
}

// Pushes that opened a listing and died before they had an entry in the journal. They have written nothing, but while one
// stands open, the listing says of everything since then that more may come. The sweeper closes them.

type Needed = Pick<Engine, 'now' | 'journal' | 'watermarks'>;

/** Longer than any push may take from its beginning to its first write. */
const forgottenMs = 30_000;

export async function closeForgotten(engine: Needed): Promise<void> {
  for (const { _id: key, open } of await engine.watermarks.withOpen()) {
    const oldestMs = engine.now() - forgottenMs;
    const old = Object.entries(open).filter(([, openedAt]) => openedAt < oldestMs);
    const pending = await engine.journal.pendingAmong(old.map(([syncId]) => syncId));
    for (const [syncId, openedAt] of old) {
      if (pending.has(syncId) || !(await isOver(engine, syncId))) continue;
      await engine.watermarks.forget(key, syncId, openedAt);
    }
  }
}

/** Not by the clocks, which may differ: no entry can come any more, or the one that came is done with. */
async function isOver({ now, journal }: Needed, syncId: string): Promise<boolean> {
  if (await journal.bury(syncId, new Date(now()))) return true;
  const pending = await journal.pendingAmong([syncId]);
  return !pending.has(syncId);
}
