// The time of an event beside those of its run: it occurred within the run, and after its push began.
import type { EventLine, RunLine } from '../lines.ts';
import { syncIdOf } from './events.ts';
import type { History } from './history.ts';
import type { Report } from './violations.ts';

interface Seen {
  events: readonly EventLine[];
  runs: readonly RunLine[];
}

export function checkEventTimes({ bySync }: History, { events, runs }: Seen, report: Report): void {
  const runById = new Map(runs.map(({ run }) => [run.syncId, run]));
  for (const { id, body, storedAt } of events) {
    const run = runById.get(syncIdOf(id));
    if (run === undefined) continue;
    const begunAt = bySync.get(run.syncId)?.begunAt ?? run.startedAt;
    const isWithin = body.timestamp >= run.startedAt && body.timestamp <= (run.completedAt ?? storedAt);
    if (isWithin && run.startedAt >= begunAt) continue;
    const what = `${id} is dated ${body.timestamp}; its push began at ${begunAt}, its run lasted from ${run.startedAt} to ${run.completedAt}`;
    report({ class: 'event-time', what });
  }
}
