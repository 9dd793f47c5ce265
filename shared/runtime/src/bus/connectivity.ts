// Whether NATS is connected. Work that runs when the connection drops fails immediately. Work that begins while the connection is
// down waits for up to 500 ms: a client needs 30 to 150 ms to find another server of its cluster. Later work fails as it begins.
import { Failure } from '@integration-sync/contracts';

export type Connectivity = ReturnType<typeof openConnectivity>;

export const backWithinMs = 500;

/** `isClosed`: whether the NATS client is closed for good. */
export function openConnectivity(isClosed: () => boolean) {
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
  /** Makes new work wait for `forMs` at most, although NATS is connected. */
  const hold = (forMs: number): void => {
    clearTimeout(patience);
    waiting ??= Promise.withResolvers();
    patience = setTimeout(release, forMs);
  };
  const isConnected = (): boolean => isUp && !isClosed();
  /** Resolves while NATS is connected; fails as unavailable if NATS is away for longer than a reconnect takes. */
  const untilConnected = async (): Promise<void> => {
    await waiting?.promise;
    if (!isConnected()) throw new Disconnected();
  };

  return {
    get connected(): boolean {
      return isConnected();
    },
    untilConnected,
    /** Settles as `work` does, or fails as unavailable the moment the connection drops. */
    async whileConnected<T>(work: () => Promise<T>): Promise<T> {
      await untilConnected();
      const lost = Promise.withResolvers<never>();
      underWay.add(lost);
      try {
        return await Promise.race([work(), lost.promise]);
      } finally {
        underWay.delete(lost);
      }
    },
    onReconnect(then: () => void): Disposable {
      reconnected.add(then);
      return { [Symbol.dispose]: () => void reconnected.delete(then) };
    },
    drop(): void {
      if (!isUp) return;
      isUp = false;
      hold(backWithinMs);
      for (const { reject } of underWay) reject(new Disconnected());
    },
    restore(): void {
      isUp = true;
      release();
      for (const then of reconnected) then();
    },
    hold,
    release,
  };
}

/** The error if NATS is not connected, or the connection dropped before an answer came. */
export class Disconnected extends Failure {
  constructor() {
    super('unavailable', 'The message bus is away; try again shortly.', { retryAfterSeconds: 1 });
  }
}

// Services without responders. All replicas of a service may be reconnecting at one moment, so a request without responders is
// sent again for up to 500 ms. Once a service has been away for longer, its callers get the failure immediately.

/** After this time without a failed request, the next request without responders is again retried for 500 ms. */
const forgottenMs = 5_000;

export function openAbsences(now: () => number = () => performance.now()) {
  const absences = new Map<string, { sinceMs: number; seenMs: number }>();
  return {
    /** Notes that a request to the service had no responders. Returns whether the service may be back within 500 ms. */
    mayEnd(service: string): boolean {
      const seenMs = now();
      const known = absences.get(service);
      const sinceMs = known === undefined || seenMs - known.seenMs > forgottenMs ? seenMs : known.sinceMs;
      absences.set(service, { sinceMs, seenMs });
      return seenMs - sinceMs < backWithinMs;
    },
    /** Notes that a replica of the service has answered. */
    end: (service: string): void => void absences.delete(service),
  };
}
