// Reports each attempt that has ended: one canonical log line, the metrics, and an entry of the attempt log. What an
// attempt changes at its endpoint: delivery-state.ts.
import type { Log } from '@integration-sync/runtime/log';
import type { WebhookMetrics } from '../metrics.ts';
import type { AttemptLog, ReportedAttempt } from './attempt-log.ts';
import type { Step } from './delivery-state.ts';

/** Reports an ended attempt. `step` is undefined if the endpoint was deleted during the attempt. */
export type Report = (ended: ReportedAttempt, step: Pick<Step, 'event' | 'disable'> | undefined) => void;

export const openReport =
  (log: Log, attemptLog: Pick<AttemptLog, 'append'>, metrics: WebhookMetrics): Report =>
  (ended, step) => {
    const { endpoint, event, number, attempted, nextAttemptAt } = ended;
    const { verdict, responseStatus, durationMs, error, traceId } = attempted;
    metrics.attempt(verdict, durationMs);
    if (verdict === 'succeeded') metrics.delivered((Date.now() - Date.parse(event.timestamp)) / 1000);
    // Successes are logged at `debug`: a push of 500 items has 500 for each webhook, which the attempt log has too.
    const level = verdict === 'succeeded' ? 'debug' : 'info';
    log[step?.disable === undefined ? level : 'warn'](
      {
        endpoint: endpoint._id,
        integration: endpoint.integration,
        traceId,
        eventId: event.eventId,
        event: event.event,
        attempt: number,
        outcome: verdict === 'succeeded' ? 'succeeded' : 'failed',
        status: responseStatus,
        durationMs,
        error: error ?? undefined,
        next: step?.event ?? 'endpoint deleted',
        nextAttemptAt: nextAttemptAt?.toISOString(),
        disabled: step?.disable,
      },
      'attempt',
    );
    if (step !== undefined) attemptLog.append(ended);
  };
