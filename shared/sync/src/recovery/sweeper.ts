// The sweeper, in every replica: settles journal entries that are due because their process died, stalled or could not
// announce, and closes the watermarks of pushes that died before they had an entry.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Engine, KindEngine } from '../engine.ts';
import type { LeftBehind } from '../journal/journal-recovery.ts';
import { dueWithinMs } from '../journal/journal-times.ts';
import { settleEntry } from './recover.ts';

const everyMs = 5_000;
/** A random delay, so that replicas which started together do not sweep together. */
const jitterMs = 1_000;
/** The interval after a failure: a cluster has a new leader within seconds. */
const againMs = 1_000;
/** How many entries are settled at a time: after an outage of NATS there may be thousands. */
const atOnce = 4;

export function startSweeper(engine: Engine, kinds: ReadonlyMap<string, KindEngine>): AsyncDisposable {
  const stop = new AbortController();
  let making: Promise<void> | undefined;
  /** Creates the streams again, in case nats-server has lost its data. */
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
        engine.log.warn({ err: error }, 'recovering pushes of stopped replicas failed, trying again later');
        return true;
      });
      // `ensureEvents` is not awaited, because it may wait for nats-server without a limit.
      if (!well && engine.bus.connected) making ??= makeAgain();
      await closeForgotten(engine).catch((error: unknown) => {
        engine.log.warn(
          { err: error },
          'pushes whose process died could not be closed in the watermarks, trying again later',
        );
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

/** Settles due entries. False if entries may be left, because one could not be settled or NATS is away. */
export async function sweep(
  engine: Engine,
  kinds: ReadonlyMap<string, KindEngine>,
  stopping: AbortSignal,
): Promise<boolean> {
  const first = await holdingBack(engine);
  while (!stopping.aborted) {
    if (!engine.bus.connected) return false;
    const left =
      first.length > 0
        ? first.splice(0, atOnce)
        : await engine.journal.leftBehind(new Date(engine.now()), atOnce);
    if (left.length === 0) return true;
    const settled = await Promise.all(left.map((one) => settle(engine, kinds, one)));
    if (!settled.every(Boolean)) return false;
  }
  return true;
}

/**
 * The due entries that hold back the `X-Next-Since` of their listings, of which there are few. They go first: while NATS takes no
 * events, thousands of answered pushes may be due before them.
 */
async function holdingBack({ watermarks, journal, now }: Needed): Promise<LeftBehind[]> {
  const open = (await watermarks.withOpen()).flatMap((watermark) => Object.keys(watermark.open));
  return open.length === 0 ? [] : journal.leftBehindAmong(open, new Date(now()));
}

/** Settles an entry. Resolves with false if that failed, and the entry is due again later. */
async function settle(
  engine: Engine,
  kinds: ReadonlyMap<string, KindEngine>,
  left: LeftBehind,
): Promise<boolean> {
  const entry = await engine.journal.takeOver(left, randomUUID(), new Date(engine.now()));
  if (entry === undefined) return true;
  const { _id: syncId, state: found } = entry;
  try {
    const of = kinds.get(entry.entityType);
    if (of === undefined)
      throw new Error(
        `the journal entry names the kind ${entry.entityType}, which this service does not store`,
      );
    await settleEntry(engine, of, entry);
    if (entry.watched !== true) engine.metrics.recovered();
    engine.log.info({ syncId, found }, 'completed a push of a dead or slow process');
    return true;
  } catch (error) {
    engine.log.warn(
      { err: error, syncId, found },
      'a push of a dead or slow process could not be completed yet',
    );
    await engine.journal.postpone(entry, new Date(engine.now())).catch((failure: unknown) => {
      engine.log.debug(
        { err: failure, syncId },
        'the journal entry of an unfinished push was not postponed: it is due again 15 s after this takeover',
      );
    });
    return false;
  }
}

// Closes pushes that opened a watermark and died before they had a journal entry. Such a push has written nothing, but holds back
// the `X-Next-Since` of its listing while it is open.

type Needed = Pick<Engine, 'now' | 'journal' | 'watermarks'>;

/** How old an open push must be to be closed: older than any push is at its first write. */
const forgottenMs = 30_000;

export async function closeForgotten(engine: Needed): Promise<void> {
  for (const { _id: key, open } of await engine.watermarks.withOpen()) {
    const now = engine.now();
    const old = Object.entries(open).filter(
      ([, openedAt]) => openedAt < now - forgottenMs || openedAt > now + dueWithinMs,
    );
    const pending = await engine.journal.pendingAmong(old.map(([syncId]) => syncId));
    for (const [syncId, openedAt] of old) {
      if (pending.has(syncId) || !(await isOver(engine, syncId))) continue;
      await engine.watermarks.forget(key, syncId, openedAt);
    }
  }
}

/**
 * Whether the push can write no more: a tombstone now keeps its entry from being inserted, or the watermarks have counted
 * its entry. Time alone does not tell, because the clocks of replicas may differ.
 */
async function isOver({ now, journal }: Needed, syncId: string): Promise<boolean> {
  if (await journal.bury(syncId, new Date(now()))) return true;
  const pending = await journal.pendingAmong([syncId]);
  return !pending.has(syncId);
}
