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

const backWithinMs = 500;
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
