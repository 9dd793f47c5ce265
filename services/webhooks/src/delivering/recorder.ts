// Records the outcome of an attempt for all replicas. policy.ts decides by the stored endpoint. The recorder stores the
// decision on the condition that the endpoint is unchanged, and broadcasts the change.
import { openSemaphore, type RunInTurn } from '@integration-sync/runtime/semaphore';
import { type Endpoint, isTrialOf, type Missed, openMaxOf, type Trial } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { isSame } from '../log/offsets.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { TellChanged } from './broadcasts.ts';
import { type Attempt, decideNext, type Next } from './policy.ts';

export interface FailedAttempt {
  /** The endpoint as it was when the attempt began. */
  endpoint: Endpoint;
  verdict: Attempt['verdict'];
  /** The event, with this attempt counted, and with the time of its next attempt. */
  tried: Trial;
  /** The events that the endpoint misses if this attempt disables it; null if another replica stores them. */
  missed: () => Missed | null;
}

export type Recorder = ReturnType<typeof openRecorder>;

const successesMax = 4;

interface RecorderOptions {
  endpoints: Pick<Endpoints, 'find' | 'recordSuccess' | 'recordFailure' | 'disable'>;
  /** Limits the concurrent writes of failures. */
  limit: RunInTurn;
  tellChanged: TellChanged;
  announce: (endpoint: Endpoint) => void;
  metrics: Pick<WebhookMetrics, 'disabledBy'>;
}

export function openRecorder(options: RecorderOptions) {
  const { endpoints, limit, tellChanged } = options;
  const limitSuccesses = openSemaphore({ max: successesMax }).run;
  /**
   * By endpoint, the last failure that is being recorded; the next failure waits for it. If many attempts end
   * together, for example at a receiver that hangs, the first failure counts and the others need no query.
   */
  const recordings = new Map<string, Promise<Recorded>>();

  const record = async (attempt: FailedAttempt, after: Endpoint | undefined): Promise<Recorded> => {
    // The endpoint is mostly unchanged, so the replica reads it again only if the conditional update fails.
    let read: Endpoint | null =
      after !== undefined && after.mark > attempt.endpoint.mark ? after : attempt.endpoint;
    while (read !== null) {
      if (!read.active || read.epoch !== attempt.endpoint.epoch) return { next: missed(read), after: read };
      const next = decideNext({
        number: attempt.tried.attempts,
        // A 410 of the former url says nothing of the present url.
        verdict: read.url === attempt.endpoint.url ? attempt.verdict : 'failed',
        counts: read.mark === attempt.endpoint.mark,
        failures: read.failures,
      });
      if (next.circuit === 'unchanged') return { next, after: read };
      const stored = await store(options, read, attempt, next);
      if (stored !== null) {
        tellChanged(read);
        return { next, after: stored };
      }
      read = await endpoints.find(read._id);
      // If MongoDB's answer to an update was lost, no replica has broadcast the change.
      if (read !== null) tellChanged(read);
    }
    return {};
  };

  return {
    /** `endpoint` is the endpoint as it was when the attempt began. */
    async succeeded(endpoint: Endpoint): Promise<void> {
      if (await limitSuccesses(() => endpoints.recordSuccess(endpoint))) tellChanged(endpoint);
    },
    async failed(attempt: FailedAttempt): Promise<Recorded> {
      const id = attempt.endpoint._id;
      const before = recordings.get(id);
      const recording = (async () => {
        const { after } = (await before?.catch(() => undefined)) ?? {};
        return limit(() => record(attempt, after));
      })();
      recordings.set(id, recording);
      try {
        return await recording;
      } finally {
        if (recordings.get(id) === recording) recordings.delete(id);
      }
    },
  };
}

/** The endpoint as it is after the decision, or null if another replica or a caller was faster. */
async function store(
  { endpoints, metrics, announce }: RecorderOptions,
  read: Endpoint,
  { tried, missed }: FailedAttempt,
  next: Next,
): Promise<Endpoint | null> {
  if (next.disable === undefined) return endpoints.recordFailure(read, next.failures, withTrial(read, tried));
  const disabled = await endpoints.disable(read, {
    reason: next.disable,
    failures: next.failures,
    at: new Date(),
    missed: missed(),
  });
  if (disabled !== null) {
    metrics.disabledBy(next.disable);
    announce(disabled);
  }
  return disabled;
}

/** The result of recording a failure; empty if the endpoint is deleted. */
interface Recorded {
  next?: Next;
  /** The endpoint after the decision, as far as this replica knows. */
  after?: Endpoint;
}

/** Puts the event of the attempt on trial. Other trials of the same log keep their numbers of attempts. */
function withTrial(read: Endpoint, trial: Trial): Trial[] {
  const others = read.trials?.filter((one) => isTrialOf(trial.stream, one) && !isSame(one, trial)) ?? [];
  return [trial, ...others].slice(0, openMaxOf(read));
}

/** The decision for an event that was in flight when its endpoint was disabled. */
const missed = ({ failures }: Endpoint): Next => ({ event: 'missed', failures, circuit: 'unchanged' });
