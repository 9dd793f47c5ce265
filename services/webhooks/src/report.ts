// What is said of each attempt: one canonical log line, the metrics, and an entry of the attempt log.
import type { Log } from '@integration-sync/runtime/log';
import type { AttemptLog } from './attemptlog.ts';
import type { Known } from './directory.ts';
import type { Delivery, EventHead } from './envelope.ts';
import type { Numbers } from './numbers.ts';
import type { Next } from './schedule.ts';
import type { Attempted } from './sender.ts';

export interface Reported {
  head: EventHead;
  attempted: Attempted;
  /** Undefined if the endpoint was deleted meanwhile. */
  next: Next | undefined;
  nextAttemptAt: Date | null;
}

export type Report = (known: Known, delivery: Delivery, reported: Reported) => void;

export function openReport(log: Log, attemptLog: AttemptLog, numbers: Numbers): Report {
  return ({ endpoint }, { eventId, attempts }, { head, attempted, next, nextAttemptAt }) => {
    const { verdict, responseStatus, durationMs, error, at } = attempted;
    const { event, timestamp } = head;
    const attempt = attempts + 1;
    const outcome = verdict === 'succeeded' ? 'succeeded' : 'failed';
    const againAt = nextAttemptAt?.toISOString();
    numbers.attempt(verdict, durationMs);
    if (verdict === 'succeeded') numbers.delivered((Date.now() - Date.parse(timestamp)) / 1000);
    // What is undefined is left out of the line.
    log[next?.disable === undefined ? 'info' : 'warn'](
      {
        endpoint: endpoint._id,
        integration: endpoint.integration,
        eventId,
        event,
        attempt,
        outcome,
        status: responseStatus,
        durationMs,
        error: error ?? undefined,
        next: next?.event ?? 'endpoint deleted',
        nextAttemptAt: againAt,
        disabled: next?.disable,
      },
      'attempt',
    );
    if (next === undefined) return;
    attemptLog.append(endpoint._id, {
      eventId,
      event,
      attempt,
      at: at.toISOString(),
      outcome,
      responseStatus,
      durationMs,
      error,
      nextAttemptAt: againAt ?? null,
    });
  };
}
