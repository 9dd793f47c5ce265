// Tells whether nats-server still has the messages of a stream up to a stored sequence. A stream that was restored from an older
// copy keeps its creation time, and new messages get the sequences of lost messages. So a writer of a sequence also stores the
// sequence and the time of the newest message that it knew. A later reader compares that time with the time that the stream has
// at that sequence.
//
//   the stream has at that sequence    conclusion about the stream
//   ─────────────────────────────────  ─────────────────────────────────────────────────────────────────────────
//   the message of the stored time     was not restored
//   a message of another time          was restored: messages from the first later message on are new
//   nothing, because it ends before    was restored
//   nothing, because it was removed    was not restored: only a purge, or the age limit, removes single messages
//   anything, but was created later    was not restored, but created again: a copy keeps the creation time
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@integration-sync/runtime/bus';

export interface NewestMessage {
  sequence: number;
  storedAt: Date;
}

export interface Restore {
  /** The last sequence that the restored stream has in common with the stream before the restore. */
  through: number;
  /** Messages that the restored copy lacks were stored before this time, and messages since the restore after this time. */
  before: Date;
}

type ComparingBus = Pick<Bus, 'readStream' | 'streamFacts' | 'storedAt'>;

/** By how much two times of one message may differ, because clients round differently. A restart of nats-server takes longer. */
const roundingMs = 5;
/** How many times the end of a stream is asked for again: a new leader may answer before it has applied the last messages. */
const endRetries = 5;
const endRetryMs = 200;

export const isSameTime = (one: Date, other: Date): boolean =>
  Math.abs(one.getTime() - other.getTime()) <= roundingMs;

/** Finds a restore. Undefined if the stream has or had the message. `subject` matches all messages of the stream. */
export async function findRestore(
  bus: ComparingBus,
  stream: string,
  subject: string,
  message: NewestMessage,
): Promise<Restore | undefined> {
  const { sequence, storedAt } = message;
  // The sequence is 0 if the stream was empty: there is no message to compare.
  if (sequence === 0 || (await hasMessage(bus, stream, message))) return undefined;
  const from = { time: new Date(storedAt.getTime() + 2 * roundingMs) };
  for await (const first of bus.readStream(stream, { subject, from, max: 1, exact: true }))
    return {
      through: Math.min(first.sequence, sequence) - 1,
      before: new Date(first.storedAt.getTime() - roundingMs),
    };
  const { lastSequence } = await bus.streamFacts(stream);
  return {
    through: Math.min(lastSequence, sequence - 1),
    before: new Date(storedAt.getTime() + roundingMs),
  };
}

async function hasMessage(
  bus: Pick<Bus, 'streamFacts' | 'storedAt'>,
  stream: string,
  message: NewestMessage,
  retries = endRetries,
): Promise<boolean> {
  // Asks for the end before the message, because a restored stream may grow up to the message's sequence between both answers.
  const { lastSequence, madeAt } = await bus.streamFacts(stream);
  if (message.storedAt < madeAt) return true;
  const found = await bus.storedAt(stream, message.sequence);
  if (found !== undefined) return isSameTime(found, message.storedAt);
  if (lastSequence >= message.sequence) return true;
  if (retries === 0) return false;
  await wait(endRetryMs);
  return hasMessage(bus, stream, message, retries - 1);
}

/** Up to which sequence a stored point still names the same event. `newest` was the newest message when the point was stored. */
export function validThrough(restores: readonly Restore[], newest: NewestMessage | undefined): number {
  if (newest === undefined) return Infinity;
  const { sequence, storedAt } = newest;
  return Math.min(
    Infinity,
    ...restores
      .filter(({ through, before }) => sequence > through && storedAt < before)
      .map(({ through }) => through),
  );
}
