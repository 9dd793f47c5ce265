// Tells whether nats-server still has the messages of a stream up to a stored sequence. A stream that was restored from an older
// copy keeps its creation time, and new messages get the sequences of lost messages. So whatever stores a sequence also stores
// when the newest message was stored that its writer knew, and a later reader compares that time with the stream's.
//
//   the stream has at that sequence    it
//   ─────────────────────────────────  ─────────────────────────────────────────────────────────────────────────
//   the message                        goes on
//   a message of another time          was restored: messages from the first later message on are new
//   nothing, because it ends before    was restored
//   nothing, because it was removed    goes on: only a purge, or the age of the stream, removes single messages
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@integration-sync/runtime/bus';

export interface NewestMessage {
  sequence: number;
  storedAt: Date;
}

export interface Restore {
  /** The last sequence of the copy. */
  through: number;
  /** Every message that the copy lacks was stored before this time, and every later message after it. */
  before: Date;
}

type ComparingBus = Pick<Bus, 'readStream' | 'streamFacts' | 'storedAt'>;

/** Clients round times of messages to milliseconds in different ways. A restart of nats-server takes longer. */
const roundingMs = 5;
/** A new leader of a stream may answer before it has applied the last messages. */
const endRetries = 5;
const endRetryMs = 200;

export const isSameTime = (one: Date, other: Date): boolean =>
  Math.abs(one.getTime() - other.getTime()) <= roundingMs;

/** Undefined if the stream still has the message, or may have had it. `subject` matches all messages of the stream. */
export async function findRestore(
  bus: ComparingBus,
  stream: string,
  subject: string,
  message: NewestMessage,
): Promise<Restore | undefined> {
  const { sequence, storedAt } = message;
  // The stream was empty: there is no message to compare.
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
  // The end is asked for first: a restored stream may reach the sequence meanwhile.
  const { lastSequence } = await bus.streamFacts(stream);
  const found = await bus.storedAt(stream, message.sequence);
  if (found !== undefined) return isSameTime(found, message.storedAt);
  if (lastSequence >= message.sequence) return true;
  if (retries === 0) return false;
  await wait(endRetryMs);
  return hasMessage(bus, stream, message, retries - 1);
}

/** The last sequence up to which a stored point, written when `newest` was the newest message, still means the same events. */
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
