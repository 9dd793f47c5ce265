// The report of each attempt: one canonical log line, the metrics, and an entry of the attempt log.
import type { Log } from '@integration-sync/runtime/log';
import type { KnownEndpoint } from '../endpoints/cache.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { Attempted } from '../sending/send.ts';
import type { Delivery, EventHead } from '../streams/messages.ts';
import { entryOf, type AttemptLog } from './attempt-log.ts';
import type { Next } from './policy.ts';

export interface Reported {
  head: EventHead;
  attempted: Attempted;
  /** Undefined if the endpoint was deleted meanwhile. */
  next: Next | undefined;
  nextAttemptAt: Date | null;
}

export type Report = (known: KnownEndpoint, delivery: Delivery, reported: Reported) => void;

export function openReport(log: Log, attemptLog: AttemptLog, metrics: WebhookMetrics): Report {
  return ({ endpoint }, { eventId, attempts }, { head, attempted, next, nextAttemptAt }) => {
    const { verdict, responseStatus, durationMs, error, traceId } = attempted;
    const { event, timestamp } = head;
    const entry = entryOf({ eventId, event, attempt: attempts + 1 }, attempted, nextAttemptAt);
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
