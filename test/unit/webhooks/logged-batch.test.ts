// An event batch of the log, once its events are decoded.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { packEventBatches, type Begin } from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { readBatch } from '../../../services/webhooks/src/log/logged-batch.ts';

const log = openLog({ service: 'test', level: 'silent' });

/** The memory in use after a collection, also outside the heap. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The batch of a push of 500 new suppliers, as catalog publishes it. */
function pushed(sequence: number) {
  const begin: Begin = {
    id: `sync_${sequence.toString(16).padStart(12, '0')}-`,
    body: '{"event":"supplier.created","timestamp":"2026-01-01T00:00:00.000Z","integrationId":"acme","data":{"externalId":"',
  };
  const events = Array.from({ length: 500 }, (_, index) => ({
    id: `${begin.id}created-${index}`,
    body: `${begin.body}SUP-${index}","internalId":"sup_${String(sequence * 1_000 + index).padStart(24, '0')}"}}`,
    begin,
  }));
  const acks = events.map((_, index) => ({ sequence: index + 1, duplicate: false }));
  const [message] = packEventBatches({ announcer: 'catalog', integration: 'acme', events, acks });
  return {
    subject: 'event-batches.1.catalog.acme',
    id: '',
    headers: new Map(),
    body: Buffer.from(message?.body ?? ''),
    sequence,
    storedAt: new Date(),
  };
}

it('a batch with decoded events takes no more memory than its bytes say, which the bounds of windows count', () => {
  const before = usedBytes();
  const batches = Array.from({ length: 60 }, (_, index) => readBatch(pushed(index + 1), log));
  const decoded = batches.flatMap((batch) => batch?.events() ?? []);
  const used = usedBytes() - before;
  expect(decoded).toHaveLength(30_000);
  expect(used).toBeLessThan(batches.reduce((sum, batch) => sum + (batch?.bytes ?? 0), 0));
});
