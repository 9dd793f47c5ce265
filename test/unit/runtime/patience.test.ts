// How long a start asks JetStream again, and what it takes for a refusal.
import { JetStreamApiError } from '@nats-io/jetstream';
import { expect, it } from 'vitest';
import { patiently, type Asked } from '../../../shared/runtime/src/bus/patience.ts';
import { openTestLog } from '../../support/log.ts';

const unavailable = { code: 503, err_code: 10_008, description: 'JetStream system temporarily unavailable' };
const offline = { code: 400, err_code: 10_005, description: 'no suitable peers for placement, peer offline' };
const noRoom = {
  code: 400,
  err_code: 10_005,
  description: 'no suitable peers for placement, insufficient storage',
};

/** Says this for so long, and then lets a stream be made. */
async function start(answer: typeof unavailable, forMs: number) {
  const { log, text } = openTestLog();
  const asked: Asked = {
    whileConnected: (work) => work(),
    connected: true,
    log,
    nats: { isClosed: () => false },
    manager: { getOptions: () => ({ apiPrefix: '$JS.API' }) },
  };
  const beganAt = performance.now();
  const made = await patiently(asked, 'stream X', async () => {
    if (performance.now() - beganAt < forMs) throw new JetStreamApiError(answer);
    return 'made';
  }).catch(String);
  return { made, tookMs: performance.now() - beganAt, log: text() };
}

it.each([
  ['JetStream is not there', unavailable, 120_000],
  ['a server that its copies need is away', offline, 29_000],
])('a start waits while %s, and logs that it waits for JetStream', async (_what, answer, forMs) => {
  const { made, tookMs, log } = await start(answer, forMs);
  expect(made).toBe('made');
  expect(tookMs).toBeLessThan(forMs + 1_000);
  expect(log).toContain('waiting for jetstream');
});

it('a start fails, and names the setting of copies, once a server that a stream’s copies need has been away for 30 s', async () => {
  const { made, tookMs } = await start(offline, Infinity);
  expect(made).toMatch(/^ConfigError: STREAM_REPLICAS: too few NATS servers .*peer offline$/);
  expect(tookMs).toBe(30_000);
});

it('a start ends immediately where the NATS servers have not enough storage', async () => {
  const { made, tookMs } = await start(noRoom, Infinity);
  expect(made).toMatch(/^ConfigError: STREAM_REPLICAS: .*insufficient storage$/);
  expect(tookMs).toBe(0);
});
