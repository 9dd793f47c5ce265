// The outcome of an attempt, made to hold for every replica: policy.ts decides on the stored endpoint, the
// recorder stores the decision on the condition that the endpoint is unchanged, and announces it to all
// replicas.
import { trialsMax, type Endpoint, type Trial } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import type { WebhookMetrics } from '../metrics.ts';
import { openLimiter, type Limiter } from '../tools/limiter.ts';
import { afterSuccess, decideNext, type Attempt, type Next } from './policy.ts';

export interface FailedAttempt {
  /** As it was when the attempt began. */
  endpoint: Endpoint;
  /** The epoch that the delivery was meant for. */
  epoch: number;
  number: number;
  verdict: Attempt['verdict'];
  /** Where the event is held. */
  sequence: number;
  /** When it would be tried again. */
  dueAt: Date;
}

export interface Recorder {
  /** An attempt at the endpoint as it was then. */
  succeeded(endpoint: Endpoint): Promise<void>;
  /** The event's next step; undefined if the endpoint no longer exists. */
  failed(attempt: FailedAttempt): Promise<Next | undefined>;
}

const successesMax = 4;

export interface RecorderOptions {
  endpoints: Pick<Endpoints, 'find' | 'recordSuccess' | 'recordFailure' | 'disable'>;
  /** For failures. */
  limit: Limiter;
  /** To this replica and all others. */
  tellChanged: (endpointId: string) => void;
  /** The endpoint was disabled, and a replica has yet to announce that. */
  announce: (endpoint: Endpoint) => void;
  metrics: Pick<WebhookMetrics, 'disabledBy'>;
}

export function openRecorder(options: RecorderOptions): Recorder {
  const { endpoints, limit, tellChanged } = options;
  const limitSuccesses = openLimiter({ max: successesMax });
  /**
   * The failures of one endpoint stand in line. Where many end together, as they do when a receiver hangs,
   * the first marks the others as not counting, so that they need not ask the database.
   */
  const lines = new Map<string, Promise<Recorded>>();

  const record = async (attempt: FailedAttempt, left: Endpoint | undefined): Promise<Recorded> => {
    // Mostly nothing has happened since, so the replica reads it again only where the update finds a change.
    let read: Endpoint | null =
      left !== undefined && left.mark > attempt.endpoint.mark ? left : attempt.endpoint;
    while (read !== null) {
      if (!read.active || read.epoch !== attempt.epoch) return { next: missed(read), left: read };
      const next = decideNext({
        number: attempt.number,
        // The receiver before is not the present one.
        verdict: read.url === attempt.endpoint.url ? attempt.verdict : 'failed',
        counts: read.mark === attempt.endpoint.mark,
        failures: read.failures,
      });
      if (next.gate === 'unchanged') return { next, left: read };
      const stored = await store(options, read, attempt, next);
      if (stored !== null) {
        tellChanged(read._id);
        return { next, left: stored };
      }
      read = await endpoints.find(read._id);
    }
    return {};
  };

  const toldAfterTrouble = openTelling(tellChanged);

  return {
    async succeeded(endpoint) {
      const id = endpoint._id;
      const open = () => limitSuccesses(() => endpoints.recordSuccess(endpoint, afterSuccess.failures));
      if (await toldAfterTrouble(id, open)) tellChanged(id);
    },
    async failed(attempt) {
      const id = attempt.endpoint._id;
      const before = lines.get(id);
      const recording = (async () => {
        const { left } = (await before?.catch(() => undefined)) ?? {};
        return toldAfterTrouble(id, () => limit(() => record(attempt, left)));
      })();
      lines.set(id, recording);
      try {
        const { next } = await recording;
        return next;
      } finally {
        if (lines.get(id) === recording) lines.delete(id);
      }
    },
  };
}

/** The endpoint as it is after the decision, or null if another replica or a caller was faster. */
async function store(
  { endpoints, metrics, announce }: Pick<RecorderOptions, 'endpoints' | 'metrics' | 'announce'>,
  read: Endpoint,
  { sequence, number, dueAt }: FailedAttempt,
  next: Next,
): Promise<Endpoint | null> {
  if (next.disable === undefined) {
    const trials = withTrial(read.trials, { sequence, attempts: number, dueAt });
    return endpoints.recordFailure(read, next.failures, trials);
  }
  const disabled = await endpoints.disable(read, next.disable, next.failures, new Date());
  if (disabled !== null) {
    metrics.disabledBy(next.disable);
    announce(disabled);
  }
  return disabled;
}

/**
 * The database may have stored a change whose answer was lost, and a second try then finds nothing to do. So after an
 * error, the next success tells all replicas of the endpoint, whether it stored anything or not.
 */
function openTelling(
  tellChanged: (endpointId: string) => void,
): <T>(id: string, work: () => Promise<T>) => Promise<T> {
  const untold = new Set<string>();
  return async (id, work) => {
    try {
      const result = await work();
      if (untold.delete(id)) tellChanged(id);
      return result;
    } catch (error) {
      untold.add(id);
      throw error;
    }
  };
}

/** Empty if the endpoint is no more. */
interface Recorded {
  next?: Next;
  /** The endpoint as it stands after that, as far as is known here. */
  left?: Endpoint;
}

/** The event of the attempt is the one on trial from here on; how often the others were tried is not forgotten. */
const withTrial = (trials: readonly Trial[] = [], trial: Trial): Trial[] =>
  [trial, ...trials.filter(({ sequence }) => sequence !== trial.sequence)].slice(0, trialsMax);

/** It was in flight when its endpoint was disabled. */
const missed = ({ failures }: Endpoint): Next => ({
  event: 'missed',
  delayMs: 0,
  failures,
  gate: 'unchanged',
  disable: undefined,
});
