// The metrics of pushes. No label names an integration: there are too many integrations.
import { shareWork } from '@integration-sync/runtime/batcher';
import { gaugesOf } from '@integration-sync/runtime/metrics';
import type { Semaphore } from '@integration-sync/runtime/semaphore';
import { Counter, type Registry } from 'prom-client';
import { doneBy, type Action } from './action.ts';
import type { Counts } from './items/push-answer.ts';
import type { Journal } from './journal/journal.ts';

interface Observed {
  semaphore: Pick<Semaphore, 'held' | 'waiting'>;
  journal: Pick<Journal, 'backlog'>;
  now: () => number;
}

export function openSyncMetrics(registry: Registry, { semaphore, journal, now }: Observed) {
  const registers = [registry];
  const items = new Counter({
    name: 'sync_items_total',
    help: 'Pushed items, by what became of them.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const recovered = new Counter({
    name: 'sync_pushes_recovered_total',
    help: 'Pushes of dead or slow processes that this process completed.',
    registers,
  });
  const gauge = gaugesOf(registry);
  gauge('sync_pushes_inside', 'Pushes that are being carried out.', () => semaphore.held);
  gauge('sync_pushes_waiting', 'Pushes that wait for their turn.', () => semaphore.waiting);
  /** One query for both gauges of the backlog, because Prometheus reads both in one scrape. */
  const readBacklog = shareWork(() => journal.backlog());
  gauge(
    'sync_pushes_unannounced',
    'Pushes whose events are not on the stream yet, over all replicas; 10,000 at most.',
    async () => (await readBacklog()).count,
  );
  gauge(
    'sync_unannounced_seconds',
    'Age of the oldest push whose events are not on the stream yet; 0 if there is none.',
    async () => {
      const { oldestAt } = await readBacklog();
      return oldestAt === undefined ? 0 : Math.max(0, now() - oldestAt.getTime()) / 1_000;
    },
  );

  return {
    pushed(kind: string, { created, updated, unchanged, failed }: Counts, action: Action): void {
      const count = (outcome: string, value: number): void => items.inc({ kind, outcome }, value);
      count('created', created);
      count(doneBy[action], updated - unchanged);
      count('unchanged', unchanged);
      count('failed', failed);
    },
    recovered: (): void => recovered.inc(),
  };
}
