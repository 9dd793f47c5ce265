// What receivers answered to failed attempts, the first 1 KiB of each. An answer may name a person, whatever event was sent. So the
// answers have subjects of their own in the stream ATTEMPTS, beside the entries of the attempt log: an erasing of a supplier purges
// all answers of its integration, and no entry.
//
//   an answer to an event from before the erasing    what happens to the answer
//   ───────────────────────────────────────────────  ────────────────────────────────────────────────────────────────────
//   a stored answer                                  the owner purges it, before the floor passes `supplier.erased`; if
//                                                    the owner is killed, the next owner purges it again
//   a later answer, after a retry or a replay        it is not stored: EVENTS keeps `supplier.erased` as long as the event
//   an answer that this replica is storing           it is stored before the purge begins
//   an answer to a deleted endpoint's attempt        it is not stored, because a purge asks for present endpoints alone
import { eventsStream, eventSubject } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import { clockSkewMs } from '../log/logged-batch.ts';
import { answersSubject, attemptsStream } from '../streams.ts';

/** One stored answer of a receiver. Event id, number and time identify the attempt that got the answer. */
interface StoredAnswer {
  eventId: string;
  attempt: number;
  at: string;
  responseBody: string;
}

export interface Answered extends StoredAnswer {
  endpoint: Pick<Endpoint, '_id' | 'integration'>;
  /** ISO time of the event. */
  occurredAt: string;
}

type AttemptKey = Pick<StoredAnswer, 'eventId' | 'attempt' | 'at'>;

const keyOf = ({ eventId, attempt, at }: AttemptKey): string => `${eventId} ${attempt} ${at}`;

/** How many entries a message has: ATTEMPTS keeps 1,000 messages of a subject, which bounds the memory for reading a log. */
export const itemsPerMessage = 16;
const answersPerWrite = 500;
/** How many answers may wait to be stored. When more wait, after a long outage of NATS, new answers are dropped. */
const waitingMax = 5_000;
const purgesAtOnce = 16;

export type AnswersBus = Pick<Bus, 'publishBatch' | 'lastAt' | 'readStream' | 'purge'>;

type Present = Pick<Endpoints, 'findAll'>;

export function openAnswers(bus: AnswersBus, endpoints: Present, replica: string) {
  let waiting: Answered[] = [];
  let made = 0;
  /** Writes and purges run one at a time: a purge also removes the answers of a write that has not seen the erasing. */
  const inTurn = openSemaphore({ max: 1 }).run;
  const nextId = (): string => `${replica}.answers.${(made += 1)}`;

  return {
    get waiting(): number {
      return waiting.length;
    },
    append(answered: Answered): void {
      if (waiting.length < waitingMax) waiting.push(answered);
    },
    /** After a rejected write the answers wait again, and may be stored twice: a reader ignores duplicates. */
    write: (): Promise<void> =>
      inTurn(async () => {
        while (waiting.length > 0) {
          const some = waiting.slice(0, answersPerWrite);
          // The look-up of erasings comes last: another replica may purge the answers at any moment.
          const kept = await ofLaterEvents(bus, await ofPresent(endpoints, some));
          const messages = inMessages(byEndpoint(kept), answersSubject, nextId);
          if (messages.length > 0) await bus.publishBatch(messages);
          waiting = waiting.slice(some.length);
        }
      }),
    /** Writes may come between two purges, because a write that begins after the first purge knows of the erasing. */
    forget: async (endpointIds: readonly string[]): Promise<void> => {
      for (let from = 0; from < endpointIds.length; from += purgesAtOnce) {
        const some = endpointIds.slice(from, from + purgesAtOnce);
        await inTurn(() => Promise.all(some.map((id) => bus.purge(attemptsStream, answersSubject(id)))));
      }
    },
    async join<Attempt extends AttemptKey>(
      endpointId: string,
      attempts: readonly Attempt[],
    ): Promise<(Attempt & Partial<StoredAnswer>)[]> {
      const wanted = new Set(attempts.map(keyOf));
      const found = new Map<string, StoredAnswer>();
      const reading = { subject: answersSubject(endpointId), from: { sequence: 1 } };
      for await (const { body } of bus.readStream(attemptsStream, reading)) {
        const some: StoredAnswer[] = JSON.parse(Buffer.from(body).toString());
        for (const answer of some) if (wanted.has(keyOf(answer))) found.set(keyOf(answer), answer);
      }
      return attempts.map((attempt) => Object.assign(attempt, found.get(keyOf(attempt))));
    },
  };
}

/**
 * Keeps answers to events that occurred more than a minute after the last erasing of a supplier: clocks of machines differ. The event
 * that EVENTS stored last need not be of the latest erasing, but each erasing in EVENTS occurred before that event was stored.
 */
async function ofLaterEvents(
  bus: Pick<Bus, 'lastAt'>,
  answered: readonly Answered[],
): Promise<readonly Answered[]> {
  const integrations = [...new Set(answered.map(({ endpoint }) => endpoint.integration))];
  const erased = new Map(
    await Promise.all(
      integrations.map(
        async (one) => [one, await bus.lastAt(eventsStream, eventSubject(one, 'supplier.erased'))] as const,
      ),
    ),
  );
  return answered.filter(({ endpoint, occurredAt }) => {
    const erasedAt = erased.get(endpoint.integration);
    return erasedAt === undefined || Date.parse(occurredAt) > erasedAt.getTime() + clockSkewMs;
  });
}

async function ofPresent(endpoints: Present, answered: readonly Answered[]): Promise<readonly Answered[]> {
  const found = await endpoints.findAll([...new Set(answered.map(({ endpoint }) => endpoint._id))]);
  const present = new Set(found.map(({ _id }) => _id));
  return answered.filter(({ endpoint }) => present.has(endpoint._id));
}

const byEndpoint = (answered: readonly Answered[]): [string, StoredAnswer[]][] =>
  Array.from(
    Map.groupBy(answered, ({ endpoint }) => endpoint._id),
    ([id, all]) => [id, all.map(({ endpoint: _endpoint, occurredAt: _occurredAt, ...stored }) => stored)],
  );

export const inMessages = (
  items: Iterable<[endpointId: string, readonly object[]]>,
  subjectOf: (endpointId: string) => string,
  nextId: () => string,
) =>
  Array.from(items).flatMap(([endpointId, all]) =>
    Array.from({ length: Math.ceil(all.length / itemsPerMessage) }, (_, n) => ({
      subject: subjectOf(endpointId),
      id: nextId(),
      body: JSON.stringify(all.slice(n * itemsPerMessage, (n + 1) * itemsPerMessage)),
    })),
  );
