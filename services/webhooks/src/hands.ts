// The messages that this replica has taken and not yet settled. The server hands a message to somebody else when
// it hears nothing of it for four seconds, so that a replica's death is noticed soon; while this one lives, it
// says every second that it still has what takes longer.
import type { StreamMessage } from '@integration-sync/runtime/bus';

export interface InHand {
  readonly message: StreamMessage;
  ack(): void;
  /** Back to the stream, for anybody. */
  giveBack(delayMs?: number): void;
}

export interface Hands extends Disposable {
  take(message: StreamMessage): InHand;
  giveBackAll(): void;
}

const beatMs = 1_000;

export function openHands(): Hands {
  const held = new Map<InHand, number>();
  const beating = setInterval(() => {
    const before = performance.now() - beatMs;
    for (const [{ message }, since] of held) if (since <= before) message.working();
  }, beatMs);

  return {
    take(message) {
      const inHand: InHand = {
        message,
        ack() {
          if (held.delete(inHand)) message.ack();
        },
        giveBack(delayMs) {
          if (held.delete(inHand)) message.nak(delayMs);
        },
      };
      held.set(inHand, performance.now());
      return inHand;
    },
    giveBackAll() {
      for (const inHand of held.keys()) inHand.giveBack();
    },
    [Symbol.dispose]() {
      clearInterval(beating);
    },
  };
}
