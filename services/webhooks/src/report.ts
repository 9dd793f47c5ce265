// What is said of each attempt: one canonical log line, the metrics, and an entry of the attempt log.
import type { Log } from '@integration-sync/runtime/log';
import type { AttemptLog } from './attemptlog.ts';
import type { Numbers } from './numbers.ts';
import type { Next } from './schedule.ts';
import type { Attempted } from './sender.ts';

export interface AttemptReport {
  endpointId: string;
  integration: string;
  eventId: string;
  event: string;
  number: number;
  attempted: Attempted;
  /** Undefined if the endpoint was deleted meanwhile. */
  next: Next | undefined;
  nextAttemptAt: Date | null;
}

export type Report = (report: AttemptReport) => void;

export function openReport(log: Log, attemptLog: AttemptLog, numbers: Numbers): Report {
  return ({ endpointId, integration, eventId, event, number, attempted, next, nextAttemptAt }) => {
    const { verdict, responseStatus, durationMs, error, at } = attempted;
    const outcome = verdict === 'succeeded' ? 'succeeded' : 'failed';
    numbers.attempt(verdict, durationMs);
    log.info(
      {
        endpoint: endpointId,
        integration,
        eventId,
        event,
        attempt: number,
        outcome,
        status: responseStatus,
        durationMs,
        ...(error === null ? {} : { error }),
        next: next?.event ?? 'endpoint deleted',
        ...(nextAttemptAt === null ? {} : { nextAttemptAt: nextAttemptAt.toISOString() }),
        ...(next?.disable === undefined ? {} : { disabled: next.disable }),
      },
      'attempt',
    );
    if (next === undefined) return;
    attemptLog.append(endpointId, {
      eventId,
      event,
      attempt: number,
      at: at.toISOString(),
      outcome,
      responseStatus,
      durationMs,
      error,
      nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    });
  };
}
