import type { DeliveryAttempt } from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { expect, test, vi } from 'vitest';
import { openAnswers } from '../../../services/webhooks/src/delivering/answers.ts';
import { openAttemptLogWriter } from '../../../services/webhooks/src/delivering/attempt-log.ts';
import type { Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { pause } from '../../support/pause.ts';

const entry: DeliveryAttempt = {
  eventId: 'evt_1',
  event: 'supplier.created',
  attempt: 1,
  at: '2026-01-01T00:00:00.000Z',
  outcome: 'succeeded',
  responseStatus: 200,
  durationMs: 1,
  error: null,
  nextAttemptAt: null,
};
const log = openLog({ service: 'test', level: 'silent' });

// What this proves: entries that a stream refuses at first are written later, each once, and a writer that has nothing to
// write has no timer.
test('the attempt log is written within its interval, repeated after a failure, and then idle', async () => {
  const written: string[] = [];
  let refuses = 3;
  const bus = {
    async publishBatch(messages: readonly { body: string | Uint8Array }[]) {
      refuses -= 1;
      if (refuses >= 0) throw new Error('no leader');
      written.push(...messages.map(({ body }) => String(body)));
      return [];
    },
    lastAt: async () => undefined,
    purge: async () => 0,
    async *readStream() {},
  };
  await using writer = openAttemptLogWriter(
    bus,
    log,
    'replica',
    openAnswers(bus, { findAll: async () => [] }, 'replica'),
  );
  expect(vi.getTimerCount()).toBe(0);
  writer.append('wh_1', entry);
  writer.append('wh_1', { ...entry, attempt: 2 });
  await pause(350);
  expect(written).toEqual([]);
  await pause(100);
  expect(written).toEqual([JSON.stringify([entry, { ...entry, attempt: 2 }])]);
  await pause(200);
  expect(vi.getTimerCount()).toBe(0);
  writer.append('wh_1', entry);
  await pause(150);
  expect(written).toHaveLength(2);
});

// Timeline: while MongoDB is slow to say whether the webhook is still there, a supplier is erased, and the owner of the partition,
// another replica, purges the answers.
test('an answer is not stored if a supplier was erased while its webhook was looked up', async () => {
  const stored: string[] = [];
  const { promise: found, resolve: find } = Promise.withResolvers<Endpoint[]>();
  let erasedAt: Date | undefined;
  const bus = {
    async publishBatch(messages: readonly { subject: string }[]) {
      stored.push(...messages.map(({ subject }) => subject));
      return [];
    },
    lastAt: async (_stream: string, subject: string) => (subject.includes('acme') ? erasedAt : undefined),
    purge: async () => 0,
    async *readStream() {},
  };
  const answers = openAnswers(bus, { findAll: () => found }, 'replica');
  for (const [_id, integration] of [
    ['wh_1', 'acme'],
    ['wh_2', 'bystander'],
  ] as const) {
    const { eventId, attempt, at } = entry;
    const occurredAt = new Date().toISOString();
    answers.append({
      endpoint: { _id, integration },
      eventId,
      attempt,
      at,
      occurredAt,
      responseBody: 'who?',
    });
  }
  const writing = answers.write();
  await pause(10);
  erasedAt = new Date();
  find(['wh_1', 'wh_2'].map((_id) => ({ _id }) as Endpoint));
  await writing;
  expect(stored).toEqual(['attempts.wh_2-answers']);
});
