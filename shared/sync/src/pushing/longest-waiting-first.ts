// Decides which of two concurrent pushes of the same records, in different replicas, goes first: the push that has waited
// longest. A push whose records another push has changed first notes a claim in the watermark of the listing. A push that sees a
// claim on its records also claims, and waits for older claims. In one replica, pushes go in the order in which they came
// (records/record-queues.ts).
//
//   the push sees, as it opens           the push
//   no claim                             writes immediately, without a further query
//   older claims, none on its records    writes after one query for the records of those pushes
//   an older claim on its records        waits until the claim is gone, for `claimMs` at most, and then removes it
//
// Correctness does not depend on claims: a write takes effect only on records that are as the push read them (record-writes.ts),
// and a push whose caller no longer waits writes nothing (may-still-write.ts).
import { setTimeout as wait } from 'node:timers/promises';
import type { Engine } from '../engine.ts';
import { internalIdsOf, unpackIds } from '../ids.ts';
import type { Kind } from '../kind.ts';
import { watermarkKey } from '../watermarks.ts';
import type { Begun } from './run-lifecycle.ts';
import type { Run } from './push-state.ts';

export type Precedence = ReturnType<typeof openPrecedence>;

/** How long a claim counts; longer than a push takes, as an older claim may be of a dead process. */
const claimMs = 2_000;
const lookEveryMs = 20;

interface Contender extends Pick<Run, 'syncId' | 'integration' | 'waitedMs'> {
  of: { kind: Pick<Kind, 'plural' | 'idPrefix'> };
  records: readonly { internalId: string }[];
}

type Needed = Pick<Engine, 'journal' | 'watermarks'>;

export function openPrecedence(
  { journal, watermarks }: Needed,
  { syncId, integration, of, records, waitedMs }: Contender,
  { records: openedAt, claims: seen }: Pick<Begun, 'records' | 'claims'>,
  forMs = claimMs,
) {
  /** Since when the push waits, by the stamps of the watermark, which all replicas share. */
  const since = Math.floor(openedAt.getTime() - waitedMs());
  const key = watermarkKey(integration, of.kind.plural);
  let claims = seen;
  let hasClaim = false;
  /** By sync id of another push, whether that push names a record of this push. */
  const isRivalById = new Map<string, boolean>([[syncId, false]]);
  const seenAtById = new Map<string, number>();

  const rivals = async (): Promise<string[]> => {
    const ids = Object.keys(claims);
    const unknown = ids.filter((id) => !isRivalById.has(id));
    if (unknown.length > 0) {
      const own = new Set(internalIdsOf(records));
      const packedById = await journal.idsOf(unknown);
      for (const id of unknown) {
        const theirs = unpackIds(of.kind.idPrefix, packedById.get(id) ?? new Uint8Array());
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

  /** The pushes with an older claim on this push's records. Removes claims that are `forMs` old. */
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
    claim,
    /** Waits for older claims on this push's records. False if this push did not wait, so that its reads may still hold. */
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
    /** Withdraws the claim of a push that has failed. */
    abandon(): void {
      // If the withdrawal fails, other pushes wait for `claimMs`.
      if (hasClaim) void watermarks.withdrawClaim(key, syncId).catch(() => undefined);
    },
  };
}
