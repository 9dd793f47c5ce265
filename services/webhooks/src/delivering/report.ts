// The report of each attempt: one canonical log line, the metrics, and an entry of the attempt log.
import type { Log } from '@integration-sync/runtime/log';
import type { KnownEndpoint } from '../endpoints/cache.ts';
import type { StreamEvent } from '../log/event.ts';
import type { LogPoint } from '../log/offset.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { Attempted } from '../sending/send.ts';
import { entryOf, type AttemptLog } from './attempt-log.ts';
import type { Next } from './policy.ts';

export interface Reported {
  known: KnownEndpoint;
  event: StreamEvent;
  /** Where the log has it. */
  point: LogPoint;
  /** 1 for an event's first. */
  number: number;
  attempted: Attempted;
  /** Undefined if the endpoint was deleted meanwhile. */
  next: Next | undefined;
  nextAttemptAt: Date | null;
}

export type Report = (reported: Reported) => void;

export function openReport(
  log: Log,
  attemptLog: Pick<AttemptLog, 'append'>,
  metrics: WebhookMetrics,
): Report {
  return ({
    known: { endpoint },
    event: { eventId, event, timestamp },
    point,
    number,
    attempted,
    next,
    nextAttemptAt,
  }) => {
    const { verdict, responseStatus, durationMs, error, traceId } = attempted;
    const entry = entryOf({ eventId, event, attempt: number, point }, attempted, nextAttemptAt);
    metrics.attempt(verdict, durationMs);
    if (verdict === 'succeeded') metrics.delivered((Date.now() - Date.parse(timestamp)) / 1000);
    // The line leaves out undefined fields.
    log[next?.disable === undefined ? 'info' : 'warn'](
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
        next: next?.event ?? 'endpoint deleted',
        nextAttemptAt: entry.nextAttemptAt ?? undefined,
        disabled: next?.disable,
      },
      'attempt',
    );
    if (next !== undefined) attemptLog.append(endpoint._id, entry);
  };
}
