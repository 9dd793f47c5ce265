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

// Services of which no replica listens. All of them may be on their way to another server at one moment, and are back
// within a moment: a request that no replica has got is sent once more until then. A service that is away for longer is
// taken to be away, and its callers are told so at once.

export interface Absences {
  /** No replica of the service listens: whether it may be back in a moment. */
  mayEnd(service: string): boolean;
  /** A replica of it has answered. */
  end(service: string): void;
}

interface Absence {
  sinceMs: number;
  seenMs: number;
}

/** An absence that was not seen for so long is another one. */
const forgottenMs = 5_000;

export function openAbsences(now: () => number = () => performance.now()): Absences {
  const absences = new Map<string, Absence>();
  return {
    mayEnd(service) {
      const seenMs = now();
      const known = absences.get(service);
      const sinceMs = known === undefined || seenMs - known.seenMs > forgottenMs ? seenMs : known.sinceMs;
      absences.set(service, { sinceMs, seenMs });
      return seenMs - sinceMs < backWithinMs;
    },
    end: (service) => void absences.delete(service),
  };
}
