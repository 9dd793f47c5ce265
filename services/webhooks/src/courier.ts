// One delivery's attempt and everything that follows from it, wherever the delivery came from:
//
//   from            a failure                                           then
//   ──────────────  ──────────────────────────────────────────────────  ───────────────────────────────
//   the stream      is held with its attempts used up, then recorded    the message is acknowledged
//   what is held    is held anew, then recorded                         the old entry is removed
//   a trial         is recorded with the endpoint; it stays where it is
//
// In this order a crash can only double a delivery, never lose one.
import type { Directory, Known } from './directory.ts';
import { readEventHead, type Delivery } from './envelope.ts';
import type { Held } from './held.ts';
import { dueAfter, type Ledger } from './ledger.ts';
import type { Persist } from './persistence.ts';
import type { Report } from './report.ts';
import { attemptsMax } from './schedule.ts';
import type { Attempted, Send } from './sender.ts';

/** Where a delivery is held; undefined while it is in the stream only. */
export interface Place {
  sequence: number;
  /** The endpoint's own record counts the attempts of the event on trial. */
  onTrial: boolean;
}

/** `settled`: nothing is owed any more. `held`: kept under a new sequence, or, on trial, where it was. */
export type Result = 'settled' | 'held';

/** Rejects when nothing could leave, and when the process stops before the attempt was recorded. */
export type Deliver = (known: Known, delivery: Delivery, place: Place | undefined) => Promise<Result>;

export interface CourierOptions {
  send: Send;
  directory: Pick<Directory, 'remembered' | 'forget'>;
  ledger: Ledger;
  held: Pick<Held, 'put'>;
  report: Report;
  persist: Persist;
}

export function openCourier({ send, directory, ledger, held, report, persist }: CourierOptions): Deliver {
  const succeed = async ({ endpoint, open }: Known): Promise<void> => {
    // Only the first success after a failure is news to the database.
    if (open && directory.remembered(endpoint._id)?.open === true) return;
    await persist('a success', () => ledger.succeeded(endpoint));
  };

  const hold = (delivery: Delivery, attempts: number, dueAt: Date): Promise<number> =>
    persist('a failed delivery', () => held.put({ ...delivery, attempts, dueAtMs: dueAt.getTime() }));

  const fail = async (known: Known, delivery: Delivery, place: Place | undefined, attempted: Attempted) => {
    closeHere(known, directory);
    const number = delivery.attempts + 1;
    const dueAt = dueAfter(number, new Date());
    const stays = place?.onTrial === true;
    const sequence =
      stays || number >= attemptsMax ? (place?.sequence ?? 0) : await hold(delivery, number, dueAt);
    const next = await persist('a failure', () =>
      ledger.failed({
        endpoint: known.endpoint,
        epoch: delivery.epoch,
        number,
        verdict: attempted.verdict === 'gone' ? 'gone' : 'failed',
        sequence,
        dueAt,
      }),
    );
    // It closed nothing but what is remembered here, where the endpoint may have been opened again meanwhile.
    if (next?.gate === 'unchanged') directory.forget(known.endpoint._id);
    const again = next?.event === 'again';
    // Not recorded with the endpoint, because another failure was; so it must be noted where it is held.
    const moves = stays && again && next.gate === 'unchanged';
    if (moves) await hold(delivery, number, dueAt);
    const isKeptThere = stays && !moves && (again || next?.event === 'missed');
    return { next, nextAttemptAt: again ? dueAt : null, result: isKeptThere ? 'held' : 'settled' } as const;
  };

  return async (known, delivery, place) => {
    const head = readEventHead(delivery.body);
    if (head === undefined) return 'settled';
    const { event, timestamp } = head;
    const { eventId, body } = delivery;
    const attempted = await send(known, { eventId, event, timestamp, body });
    if (attempted.verdict === 'succeeded') {
      await succeed(known);
      report(known, delivery, { head, attempted, next: delivered, nextAttemptAt: null });
      return 'settled';
    }
    const { next, nextAttemptAt, result } = await fail(known, delivery, place, attempted);
    report(known, delivery, { head, attempted, next, nextAttemptAt });
    return result;
  };
}

const delivered = {
  event: 'delivered',
  delayMs: 0,
  failures: 0,
  gate: 'open',
  disable: undefined,
} as const;

/** At once, so that nothing more begins here while the failure is on its way to the database. */
function closeHere(known: Known, directory: Pick<Directory, 'remembered'>): void {
  known.open = false;
  const remembered = directory.remembered(known.endpoint._id);
  if (remembered != null) remembered.open = false;
}
