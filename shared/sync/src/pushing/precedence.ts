// Which of the pushes goes first that replicas carry out at once and that speak of the same records: the one that has waited
// longest. A push that lost records to another one claims to go first, in the watermark of their listing; a push that sees a claim
// on its records claims as well, and waits for those that have waited longer.
//
//   no claim when it opened              writes at once; this took no question of its own
//   older claims, none on its records    the same, after one look at their entries
//   an older claim on its records        waits until that is gone, for `claimMs` at most, and then takes it away
//
// This decides who waits, and nothing else. A write takes effect only on what was read before (record-writes.ts), and a push whose
// caller no longer waits writes nothing (may-still-write.ts).
import { setTimeout as wait } from 'node:timers/promises';
import type { Engine } from '../engine.ts';
import { internalIdsOf, unpackIds } from '../ids.ts';
import type { Begun } from './run-lifecycle.ts';

export type Precedence = ReturnType<typeof openPrecedence>;

/** Longer than a push takes: one that still claims then may be of a dead process. */
const claimMs = 2_000;
const lookEveryMs = 20;

interface Contender {
  syncId: string;
  /** Of the listing's watermark. */
  key: string;
  idPrefix: string;
  records: readonly { internalId: string }[];
  /** When it opened its watermark, it had waited for so long. */
  waitedMs: number;
}

type Needed = Pick<Engine, 'journal' | 'watermarks'>;

export function openPrecedence(
  { journal, watermarks }: Needed,
  { syncId, key, idPrefix, records, waitedMs }: Contender,
  { records: openedAt, claims: seen }: Pick<Begun, 'records' | 'claims'>,
  forMs = claimMs,
) {
  /** By the clock of the watermark, which all replicas share. */
  const since = Math.floor(openedAt.getTime() - waitedMs);
  let claims = seen;
  let hasClaim = false;
  /** Whether it speaks of a record of this push. */
  const isRivalById = new Map<string, boolean>([[syncId, false]]);
  const seenAtById = new Map<string, number>();

  const rivals = async (): Promise<string[]> => {
    const ids = Object.keys(claims);
    const unknown = ids.filter((id) => !isRivalById.has(id));
    if (unknown.length > 0) {
      const own = new Set(internalIdsOf(records));
      const packedById = await journal.idsOf(unknown);
      for (const id of unknown) {
        const theirs = unpackIds(idPrefix, packedById.get(id) ?? new Uint8Array());
        const isRival = theirs.some((record) => own.has(record));
        isRivalById.set(id, isRival);
      }
    }
    return ids.filter((id) => isRivalById.get(id) === true);
  };

  const isOlder = (id: string): boolean => {
    const theirs = claims[id] ?? Infinity;
    return theirs < since || (theirs === since && id < syncId);
  };

  /** Those that are still worth waiting for. */
  const waitedFor = async (): Promise<string[]> => {
    const older = (await rivals()).filter((id) => isOlder(id));
    const now = performance.now();
    const dead = older.filter((id) => {
      const seenAt = seenAtById.get(id) ?? now;
      seenAtById.set(id, seenAt);
      return now - seenAt >= forMs;
    });
    for (const id of dead) {
      isRivalById.set(id, false);
      await watermarks.withdrawClaim(key, id);
    }
    return older.filter((id) => !dead.includes(id));
  };

  const claim = async (): Promise<void> => {
    claims = await watermarks.claim(key, syncId, since);
    hasClaim = true;
  };

  return {
    /** Others are to see how long this push has waited. */
    claim,
    /** Waits for pushes with an older claim on its records. False where there is none, and what was read before may still hold. */
    async yield(): Promise<boolean> {
      if ((await rivals()).length === 0) return false;
      if (!hasClaim) await claim();
      let hasWaited = false;
      while ((await waitedFor()).length > 0) {
        hasWaited = true;
        await wait(lookEveryMs * (1 + Math.random()));
        ({ claims = {} } = await watermarks.read(key));
      }
      return hasWaited;
    },
    /** The push has failed: no other push waits for it any more. */
    abandon(): void {
      // Where that fails, others wait for `claimMs`.
      if (hasClaim) void watermarks.withdrawClaim(key, syncId).catch(() => undefined);
    },
  };
}
