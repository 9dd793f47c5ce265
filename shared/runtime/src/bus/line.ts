// Whether the line to NATS is up. What is under way when it drops fails at once. What begins while it is down waits for a moment,
// as a client needs 30 to 150 ms to find another server of its cluster. Where it has found none by then, everything that begins
// fails at once.
import { Failure } from '@integration-sync/contracts';

export interface Line {
  readonly connected: boolean;
  /** Resolves at once while the line is up; fails as unavailable where it is down for longer than a reconnect takes. */
  untilConnected(): Promise<void>;
  /** Settles as `work` does, or fails as unavailable the moment the line drops. */
  whileConnected<T>(work: () => Promise<T>): Promise<T>;
  /** Whenever the line is up again after it was down. */
  onReconnect(then: () => void): Disposable;
  drop(): void;
  restore(): void;
  /** What begins waits, though the line is up; for so long at most. */
  hold(forMs: number): void;
  release(): void;
}

export const backWithinMs = 500;

/** A client that is closed has no line. */
export function openLine(isClosed: () => boolean): Line {
  let isUp = true;
  let waiting: PromiseWithResolvers<void> | undefined;
  let patience: NodeJS.Timeout | undefined;
  const underWay = new Set<PromiseWithResolvers<never>>();
  const reconnected = new Set<() => void>();

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
  const isConnected = (): boolean => isUp && !isClosed();
  const untilConnected = async (): Promise<void> => {
    await waiting?.promise;
    if (!isConnected()) throw new Disconnected();
  };

  return {
    get connected() {
      return isConnected();
    },
    untilConnected,
    async whileConnected(work) {
      await untilConnected();
      const lost = Promise.withResolvers<never>();
      underWay.add(lost);
      try {
        return await Promise.race([work(), lost.promise]);
      } finally {
        underWay.delete(lost);
      }
    },
    onReconnect(then) {
      reconnected.add(then);
      return { [Symbol.dispose]: () => void reconnected.delete(then) };
    },
    drop() {
      if (!isUp) return;
      isUp = false;
      hold(backWithinMs);
      for (const { reject } of underWay) reject(new Disconnected());
    },
    restore() {
      isUp = true;
      release();
      for (const then of reconnected) then();
    },
    hold,
    release,
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
