// Expectations: `sync.overdue` once for each due time that passed without a push, within a minute; none if a push was in time.
import type { Check } from './facts.ts';
import { overMs, seconds } from './times.ts';

const announcedWithinMs = 60_000;

export const checkOverdue: Check = ({ asks, events, faults, toLedger }, report) => {
  const told = Map.groupBy(
    events.filter(({ body: { data } }) => 'dueAt' in data),
    ({ body: { integrationId, data } }) => `${integrationId} ${'dueAt' in data && data.dueAt}`,
  );
  const byIntegration = Map.groupBy(asks, ({ integration }) => integration);
  for (const { integration, sent, endedMs } of asks.filter(
    ({ method, by }) => method === 'WRITE' && by.startsWith('expects'),
  )) {
    const { dueAt }: { dueAt: string } = Object(sent);
    const [name, dueMs] = [`${integration} ${dueAt}`, toLedger(dueAt)];
    const own = told.get(name) ?? [];
    told.delete(name);
    const pushes = byIntegration.get(integration)?.filter(({ path }) => path === '/suppliers') ?? [];
    const isInTime = pushes.some((push) => push.outcome === 200 && push.endedMs < dueMs);
    // After a push that failed, or came at the due time itself, `sync.overdue` may come or not.
    if (own.length > (isInTime ? 0 : 1) || (own.length === 0 && pushes.length === 0))
      report(
        'overdue',
        `${name}, with ${isInTime ? 'a' : 'no'} push before it, was announced ${own.length} times`,
      );
    const possibleMs = Math.max(dueMs, endedMs, ...faults.map(overMs));
    for (const { id, storedAt } of own) {
      const lateMs = toLedger(storedAt) - possibleMs;
      if (lateMs > announcedWithinMs) report('overdue', `${id} came ${seconds(lateMs)} too late`);
    }
  }
  for (const name of told.keys()) report('overdue', `${name} was announced, and no caller expected it`);
};
