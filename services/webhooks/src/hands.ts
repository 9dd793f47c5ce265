// The messages that this replica has taken and not yet settled. The server hands a message to somebody else when
// it hears nothing of it for four seconds, so that a replica's death is noticed soon; while this one lives, it
// says twice a second that it still has what takes longer.
import type { StreamMessage } from '@integration-sync/runtime/bus';

/** A message is settled when each of its parts is. */
export interface InHand {
  readonly message: StreamMessage;
  ack(): void;
  /** Back to the stream, for anybody: the whole message, once its other parts are settled. */
  giveBack(delayMs?: number): void;
}

export interface Hands extends Disposable {
  take(message: StreamMessage, parts?: number): InHand;
  giveBackAll(): void;
}

const beatMs = 500;

interface Held {
  since: number;
  parts: number;
  /** Undefined while all is well. */
  giveBackAfterMs: number | undefined;
}

export function openHands(): Hands {
  const inHands = new Map<StreamMessage, Held>();
  const beating = setInterval(() => {
    const before = performance.now() - beatMs;
    for (const [message, { since }] of inHands) if (since <= before) message.working();
  }, beatMs);

  const settle = (message: StreamMessage): void => {
    const held = inHands.get(message);
    if (held === undefined) return;
    held.parts -= 1;
    if (held.parts > 0) return;
    inHands.delete(message);
    if (held.giveBackAfterMs === undefined) message.ack();
    else message.nak(held.giveBackAfterMs);
  };

  return {
    take(message, parts = 1) {
      inHands.set(message, { since: performance.now(), parts, giveBackAfterMs: undefined });
      return {
        message,
        ack: () => settle(message),
        giveBack(delayMs = 0) {
          const held = inHands.get(message);
          if (held !== undefined) held.giveBackAfterMs = Math.max(held.giveBackAfterMs ?? 0, delayMs);
          settle(message);
        },
      };
    },
    giveBackAll() {
      for (const message of inHands.keys()) message.nak();
      inHands.clear();
    },
    [Symbol.dispose]() {
      clearInterval(beating);
    },
  };
}
