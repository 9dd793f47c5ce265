// Whether the line to NATS is up. What begins while it is down waits for a moment, as a client needs 30 to 150 ms to find
// another server of its cluster. Where it has found none by then, everything that begins fails at once.
import { Failure } from '@integration-sync/contracts';

export interface Line {
  readonly isUp: boolean;
  drop(): void;
  restore(): void;
  /** What begins waits, though the line is up; for so long at most. */
  hold(forMs: number): void;
  release(): void;
  /** Fails as unavailable where the line is down and does not come back within a moment. */
  untilUp(): Promise<void>;
}

export const backWithinMs = 500;

export function openLine(): Line {
  let isUp = true;
  let waiting: PromiseWithResolvers<void> | undefined;
  let patience: NodeJS.Timeout | undefined;

  const release = (): void => {
    clearTimeout(patience);
    waiting?.resolve();
    waiting = undefined;
  };
  const hold = (forMs: number): void => {
    clearTimeout(patience);
    waiting ??= Promise.withResolvers();
    patience = setTimeout(release, forMs);
  };

  return {
    get isUp() {
      return isUp;
    },
    drop() {
      if (!isUp) return;
      isUp = false;
      hold(backWithinMs);
    },
    restore() {
      isUp = true;
      release();
    },
    hold,
    release,
    async untilUp() {
      await waiting?.promise;
      if (!isUp) throw new Disconnected();
    },
  };
}

/** There is no line to NATS, or it dropped before an answer came. */
export class Disconnected extends Failure {
  constructor() {
    super('unavailable', 'The message bus is away; try again shortly.', { retryAfterSeconds: 1 });
  }
}
