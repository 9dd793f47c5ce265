// The metrics of pushes. Labels never name an integration: there are too many.
import { openGauge } from '@integration-sync/runtime/metrics';
import { Counter, type Registry } from 'prom-client';
import type { Action } from './action.ts';
import type { Counts } from './items/answer.ts';
import type { Backlog } from './journal/journal-entry.ts';

export interface Gauges {
  inside: () => number;
  waiting: () => number;
  backlog: () => Promise<Backlog>;
  now: () => number;
}

export interface SyncMetrics {
  pushed(kind: string, counts: Counts, action: Action): void;
  /** A push that another process left behind was settled here. */
  recovered(): void;
}

const changedBy: Readonly<Record<Action, string>> = {
  push: 'updated',
  archive: 'archived',
  erase: 'erased',
};

export function openSyncMetrics(registry: Registry, { inside, waiting, backlog, now }: Gauges): SyncMetrics {
  const registers = [registry];
  const items = new Counter({
    name: 'sync_items_total',
    help: 'Pushed items, by what became of them.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const recovered = new Counter({
    name: 'sync_pushes_recovered_total',
    help: 'Pushes that another process left behind, and this one settled.',
    registers,
  });
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void =>
    openGauge(registry, { name, help }, read);
  gauge('sync_pushes_inside', 'Pushes that are being carried out.', inside);
  gauge('sync_pushes_waiting', 'Pushes that wait for their turn.', waiting);
  let reading: Promise<Backlog> | undefined;
  /** Both of its gauges are asked at once, and the database once for them. */
  const readBacklog = (): Promise<Backlog> => (reading ??= backlog().finally(() => (reading = undefined)));
  gauge(
    'sync_pushes_unannounced',
    'Pushes whose events are not on the stream yet, over all replicas; 10,000 at most.',
    async () => (await readBacklog()).count,
  );
  gauge(
    'sync_unannounced_seconds',
    'How long the oldest of them has been so; 0 if there is none.',
    async () => {
      const { oldestAt } = await readBacklog();
      return oldestAt === undefined ? 0 : Math.max(0, now() - oldestAt.getTime()) / 1_000;
    },
  );

  return {
    pushed(kind, { created, updated, unchanged, failed }, action) {
      const count = (outcome: string, value: number): void => items.inc({ kind, outcome }, value);
      count('created', created);
      count(changedBy[action], updated - unchanged);
      count('unchanged', unchanged);
      count('failed', failed);
    },
    recovered: () => recovered.inc(),
  };
}
