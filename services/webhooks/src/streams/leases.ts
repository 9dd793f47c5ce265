// The messages that this replica has taken and not yet settled, each under a lease. nats-server hands a message to another
// replica when it hears nothing of it for four seconds, so that a replica's death is noticed soon; while this one lives,
// it extends the leases of what takes longer twice a second. What a replica that died had in hand comes again in the order of
// the last words about it: where order matters, what is younger is extended with what is older.
//
// A replica that stood still, or lost its server with acknowledgements on their way, is handed messages once more:
//
//   the message, when it comes again   what this replica does
//   ─────────────────────────────────  ──────────────────────────────────────────────────────────────
//   was settled here a moment ago      acknowledges it again
//   is in hand                         goes on with what it has in hand
//   is anything else                   takes it
//
// And what it had not begun when its lease lapsed it leaves to the replica that was handed it meanwhile.
import type { StreamMessage } from '@integration-sync/runtime/bus';
import { remember } from '../tools/remember.ts';

/** A message is settled when each of its parts is. */
export interface Lease {
  readonly message: StreamMessage;
  /** This process stood still for so long that nats-server may have handed the message to another replica. */
  readonly isLapsed: boolean;
  ack(): void;
  /** Back to the stream, for any replica: the whole message, once its other parts are settled. */
  giveBack(delayMs?: number): void;
  /** To the replica that is handed the message next, or was already. */
  leave(): void;
}

export interface Leases extends Disposable {
  /** Undefined where this replica has it in hand, or settled it a moment ago. */
  take(message: StreamMessage, parts?: number): Lease | undefined;
  giveBackAll(): void;
}

const beatMs = 500;
/** Not before nats-server's own four seconds are over: what it has not handed to another replica this one goes on with. */
export const lapsesAfterMs = 4_250;
/** Longer than nats-server takes to notice that a client is gone, and to hand out once more what that had. */
const settledForMs = 15_000;
const settledMax = 10_000;

interface Taken {
  message: StreamMessage;
  /** When nats-server was last told that it is in hand, or handed it out. */
  extendedAt: number;
  parts: number;
  /** Undefined while all is well. */
  giveBackAfterMs: number | undefined;
  isLeft: boolean;
}

export interface LeasesOptions {
  /** nats-server hands out again what this replica took first before what it took later. */
  inOrder?: boolean;
  now?: () => number;
}

export function openLeases({ inOrder = false, now = () => performance.now() }: LeasesOptions = {}): Leases {
  const leases = new Map<string, Taken>();
  /** When each was. */
  const settled = new Map<string, number>();

  const isLapsed = ({ extendedAt }: Taken): boolean => now() - extendedAt > lapsesAfterMs;

  const beating = setInterval(() => {
    const at = now();
    let isOlderExtended = false;
    for (const taken of leases.values()) {
      const isDue = at - taken.extendedAt >= beatMs || (inOrder && isOlderExtended);
      if (!isDue || isLapsed(taken)) continue;
      taken.message.working();
      taken.extendedAt = at;
      isOlderExtended = true;
    }
    for (const [name, since] of settled) {
      if (at - since < settledForMs) break;
      settled.delete(name);
    }
  }, beatMs);

  const settle = (name: string, taken: Taken): void => {
    taken.parts -= 1;
    if (taken.parts > 0 || leases.get(name) !== taken) return;
    leases.delete(name);
    const { message, giveBackAfterMs, isLeft } = taken;
    if (isLeft) return;
    if (giveBackAfterMs !== undefined) return message.nak(giveBackAfterMs);
    message.ack();
    remember(settled, name, now(), settledMax);
  };

  return {
    take(message, parts = 1) {
      const name = nameOf(message);
      if (settled.has(name)) {
        message.ack();
        return undefined;
      }
      const inHand = leases.get(name);
      if (inHand !== undefined) {
        inHand.extendedAt = now();
        return undefined;
      }
      const taken: Taken = { message, extendedAt: now(), parts, giveBackAfterMs: undefined, isLeft: false };
      leases.set(name, taken);
      return {
        message,
        get isLapsed() {
          return isLapsed(taken);
        },
        ack: () => settle(name, taken),
        giveBack(delayMs = 0) {
          taken.giveBackAfterMs = Math.max(taken.giveBackAfterMs ?? 0, delayMs);
          settle(name, taken);
        },
        leave() {
          taken.isLeft = true;
          settle(name, taken);
        },
      };
    },
    giveBackAll() {
      for (const { message } of leases.values()) message.nak();
      leases.clear();
    },
    [Symbol.dispose]() {
      clearInterval(beating);
    },
  };
}

/** Streams have subjects of their own, and one that was lost and made again gives the same places at another time. */
const nameOf = ({ subject, sequence, storedAt }: StreamMessage): string =>
  `${sequence} ${storedAt.getTime()} ${subject}`;
