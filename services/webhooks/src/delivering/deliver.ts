// One delivery's attempt and everything that follows from it, wherever the delivery came from:
//
//   from            a failure                                           then
//   ──────────────  ──────────────────────────────────────────────────  ───────────────────────────────
//   the stream      is held with its attempts used up, then recorded    the message is acknowledged
//   what is held    is held again, then recorded                        the old entry is removed
//   a trial         is recorded with the endpoint; it stays where it is
//
// In this order a crash can only double a delivery, never lose one.
import type { EndpointCache, KnownEndpoint } from '../endpoints/cache.ts';
import type { Attempted, Send } from '../sending/send.ts';
import { readEventHead, type Delivery } from '../streams/messages.ts';
import type { Retry } from '../tools/retry.ts';
import { afterSuccess, attemptsMax, dueAfter } from './policy.ts';
import type { Recorder } from './recorder.ts';
import type { Report } from './report.ts';

/** Where a delivery is held; undefined while it is in the stream only. */
export interface Place {
  sequence: number;
  /** The endpoint's own record counts the attempts of the event on trial. */
  onTrial: boolean;
}

/** `settled`: nothing is owed any more. `held`: kept under a new sequence, or, on trial, where it was. */
export type Result = 'settled' | 'held';

/** Rejects when the attempt could not leave, and when the process stops before the attempt was recorded. */
export type Deliver = (known: KnownEndpoint, delivery: Delivery, place: Place | undefined) => Promise<Result>;

export interface DeliverOptions {
  send: Send;
  cache: Pick<EndpointCache, 'remembered' | 'forget'>;
  recorder: Recorder;
  /** What is set aside; resolves with the delivery's sequence there. */
  held: { put(delivery: Delivery): Promise<number> };
  report: Report;
  retry: Retry;
}

export function openDeliver({ send, cache, recorder, held, report, retry }: DeliverOptions): Deliver {
  const succeed = async ({ endpoint, open }: KnownEndpoint): Promise<void> => {
    // Only the first success after a failure changes the database.
    if (open && cache.remembered(endpoint._id)?.open === true) return;
    await retry('a success', () => recorder.succeeded(endpoint));
  };

  const hold = (delivery: Delivery, attempts: number, dueAt: Date): Promise<number> =>
    retry('a failed delivery', () => held.put({ ...delivery, attempts, dueAtMs: dueAt.getTime() }));

  const fail = async (
    known: KnownEndpoint,
    delivery: Delivery,
    place: Place | undefined,
    attempted: Attempted,
  ) => {
    closeHere(known, cache);
    const number = delivery.attempts + 1;
    const dueAt = dueAfter(number, new Date());
    const stays = place?.onTrial === true;
    const sequence =
      stays || number >= attemptsMax ? (place?.sequence ?? 0) : await hold(delivery, number, dueAt);
    const next = await retry('a failure', () =>
      recorder.failed({
        endpoint: known.endpoint,
        epoch: delivery.epoch,
        number,
        verdict: attempted.verdict === 'gone' ? 'gone' : 'failed',
        sequence,
        dueAt,
      }),
    );
    // The failure closed only what this replica remembers, and the endpoint may have been opened again
    // meanwhile.
    if (next?.gate === 'unchanged') cache.forget(known.endpoint._id);
    const again = next?.event === 'again';
    // The endpoint did not record it, because it recorded another failure; so the replica notes it where the
    // event is held.
    const moves = stays && again && next.gate === 'unchanged';
    if (moves) await hold(delivery, number, dueAt);
    const isKeptThere = stays && !moves && (again || next?.event === 'missed');
    return { next, nextAttemptAt: again ? dueAt : null, result: isKeptThere ? 'held' : 'settled' } as const;
  };

  return async (known, delivery, place) => {
    const head = readEventHead(delivery.body);
    if (head === undefined) return 'settled';
    const { event, timestamp } = head;
    const { eventId, body, traceparent } = delivery;
    const attempt = delivery.attempts + 1;
    const attempted = await send(known, { eventId, event, timestamp, body, attempt, traceparent });
    if (attempted.verdict === 'succeeded') {
      await succeed(known);
      report(known, delivery, { head, attempted, next: afterSuccess, nextAttemptAt: null });
      return 'settled';
    }
    const { next, nextAttemptAt, result } = await fail(known, delivery, place, attempted);
    report(known, delivery, { head, attempted, next, nextAttemptAt });
    return result;
  };
}

/** At once, so that no further attempt begins here while the failure is on its way to the database. */
function closeHere(known: KnownEndpoint, cache: Pick<EndpointCache, 'remembered'>): void {
  known.open = false;
  const remembered = cache.remembered(known.endpoint._id);
  if (remembered != null) remembered.open = false;
}
