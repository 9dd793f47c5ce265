// Reports each attempt that has ended: one canonical log line, the metrics, and an entry of the attempt log.
import type { Log } from '@integration-sync/runtime/log';
import type { KnownEndpoint } from '../endpoints/cache.ts';
import type { StreamEvent } from '../log/batch.ts';
import type { LogPoint } from '../log/offsets.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { Attempted } from '../sending/send.ts';
import { answerOf, type AttemptLog, entryOf } from './attempt-log.ts';
import type { Step } from './delivery-state.ts';

interface Reported {
  known: KnownEndpoint;
  event: StreamEvent;
  /** The point of the event in the log. */
  point: LogPoint;
  /** 1 for an event's first attempt. */
  number: number;
  attempted: Attempted;
  /** Undefined if the endpoint was deleted meanwhile. */
  step: Pick<Step, 'event' | 'disable'> | undefined;
  nextAttemptAt: Date | null;
}

export type Report = (reported: Reported) => void;

export function openReport(
  log: Log,
  attemptLog: Pick<AttemptLog, 'append'>,
  metrics: WebhookMetrics,
): Report {
  return ({ known, event: { eventId, event, timestamp }, point, number, attempted, step, nextAttemptAt }) => {
    const { endpoint } = known;
    const { verdict, responseStatus, durationMs, error, traceId } = attempted;
    const entry = entryOf({ eventId, event, attempt: number, point }, attempted, nextAttemptAt);
    metrics.attempt(verdict, durationMs);
    if (verdict === 'succeeded') metrics.delivered((Date.now() - Date.parse(timestamp)) / 1000);
    // A push of 500 items would write 500 lines for each of its webhooks. The attempt log and the metrics have successes as well.
    const level = verdict === 'succeeded' ? 'debug' : 'info';
    // The log line leaves out undefined fields.
    log[step?.disable === undefined ? level : 'warn'](
      {
        endpoint: endpoint._id,
        integration: endpoint.integration,
        traceId,
        eventId,
        event,
        attempt: entry.attempt,
        outcome: entry.outcome,
        status: responseStatus,
        durationMs,
        error: error ?? undefined,
        next: step?.event ?? 'endpoint deleted',
        nextAttemptAt: entry.nextAttemptAt ?? undefined,
        disabled: step?.disable,
      },
      'attempt',
    );
    if (step === undefined) return;
    const answered = answerOf(endpoint, { eventId, timestamp }, number, attempted);
    attemptLog.append(endpoint._id, entry, answered);
  };
}
