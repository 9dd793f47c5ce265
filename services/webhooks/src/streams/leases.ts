// The messages that this replica has taken and not yet settled, each under a lease. nats-server hands a message to another
// replica when it hears nothing of it for four seconds, so that a replica's death is noticed soon; while this one lives,
// it extends the leases of what takes longer twice a second.
import type { StreamMessage } from '@integration-sync/runtime/bus';

/** A message is settled when each of its parts is. */
export interface Lease {
  readonly message: StreamMessage;
  ack(): void;
  /** Back to the stream, for any replica: the whole message, once its other parts are settled. */
  giveBack(delayMs?: number): void;
}

export interface Leases extends Disposable {
  take(message: StreamMessage, parts?: number): Lease;
  giveBackAll(): void;
}

const beatMs = 500;

interface Taken {
  since: number;
  parts: number;
  /** Undefined while all is well. */
  giveBackAfterMs: number | undefined;
}

export function openLeases(): Leases {
  const leases = new Map<StreamMessage, Taken>();
  const beating = setInterval(() => {
    const before = performance.now() - beatMs;
    for (const [message, { since }] of leases) if (since <= before) message.working();
  }, beatMs);

  const settle = (message: StreamMessage): void => {
    const taken = leases.get(message);
    if (taken === undefined) return;
    taken.parts -= 1;
    if (taken.parts > 0) return;
    leases.delete(message);
    if (taken.giveBackAfterMs === undefined) message.ack();
    else message.nak(taken.giveBackAfterMs);
  };

  return {
    take(message, parts = 1) {
      leases.set(message, { since: performance.now(), parts, giveBackAfterMs: undefined });
      return {
        message,
        ack: () => settle(message),
        giveBack(delayMs = 0) {
          const taken = leases.get(message);
          if (taken !== undefined) taken.giveBackAfterMs = Math.max(taken.giveBackAfterMs ?? 0, delayMs);
          settle(message);
        },
      };
    },
    giveBackAll() {
      for (const message of leases.keys()) message.nak();
      leases.clear();
    },
    [Symbol.dispose]() {
      clearInterval(beating);
    },
  };
}
