// One trace from a caller to the receivers of what it pushed, through real processes, as a collector has it.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { branchesOf, openCollector, type Collector, type SeenSpan } from '../support/collector.ts';
import { eventually } from '../support/eventually.ts';
import { openReceiver } from '../support/receiver.ts';
import { openClient, startTestStack } from '../support/stack.ts';

let collector: Collector;
let stack: Stack;

beforeAll(async () => {
  collector = await openCollector();
  stack = await startTestStack({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      WEBHOOK_TRACEPARENT: 'true',
      // The line of a successful attempt.
      LOG_LEVEL: 'debug',
    },
  });
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

const callerSpan = '00f067aa0ba902b7';

const spansOf = (id: string): SeenSpan[] => collector.spans.filter((span) => span.traceId === id);

/** Those that say it under `msg`, of the log of one service. */
async function linesOf(service: string, msg: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(stack.logFolder, `${service}.log`), 'utf8');
  const lines = text.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line): Record<string, unknown> => JSON.parse(line)).filter((line) => line['msg'] === msg);
}

// Setup: a product, and a receiver of batches. Timeline: a caller with a trace of its own pushes two batches.
// What this proves: every step up to the receiver is a span of the caller's trace, under the step from which it comes.
it('one trace spans a push from its caller to the receiver of its events', async () => {
  const traceId = randomBytes(16).toString('hex');
  const acme = openClient(stack);
  await using receiver = await openReceiver();
  await acme.post('/webhook-events', { url: receiver.url, events: ['batch.created'] });
  await acme.post('/products', { products: [{ externalId: 'P-1', name: 'Oak' }] });

  const pushed = await fetch(`${stack.gateway}/api/v1/integration/batches`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${stack.token({ integration: acme.integration })}`,
      'content-type': 'application/json',
      traceparent: `00-${traceId}-${callerSpan}-01`,
    },
    body: JSON.stringify({
      batches: ['B-1', 'B-2'].map((externalId) => ({
        externalId,
        productExternalId: 'P-1',
        batchNumber: externalId,
      })),
    }),
  });
  expect(pushed.status).toBe(200);
  const hits = await receiver.received(2);
  await eventually(
    () => new Set(spansOf(traceId).map(({ service }) => service)).size,
    (services) => services === 4,
    30_000,
  );
  await eventually(
    () => spansOf(traceId).filter(({ name }) => name === 'deliver').length,
    (deliveries) => deliveries === 2,
    30_000,
  );

  const spans = spansOf(traceId);
  const branches = branchesOf(spans);
  const isOfDatabase = (_branch: string, n: number): boolean =>
    'db.system.name' in (spans[n]?.attributes ?? {});
  const ofDatabase = branches.filter(isOfDatabase);
  expect(branches.filter((branch, n) => !isOfDatabase(branch, n)).toSorted()).toEqual(
    [
      `gateway: POST /api/v1/integration/batches < ${callerSpan}`,
      'gateway: ask svc.batches.batches.push < gateway: POST /api/v1/integration/batches',
      'batches: answer svc.batches.batches.push < gateway: ask svc.batches.batches.push',
      'batches: ask svc.catalog.products.resolve < batches: answer svc.batches.batches.push',
      'catalog: answer svc.catalog.products.resolve < batches: ask svc.catalog.products.resolve',
      'batches: announce < batches: answer svc.batches.batches.push',
      'webhooks: fan out < batches: announce',
      'webhooks: deliver < webhooks: fan out',
      'webhooks: deliver < webhooks: fan out',
    ].toSorted(),
  );
  expect(new Set(ofDatabase)).toContain(
    'batches: insertOne batches_journal < batches: answer svc.batches.batches.push',
  );
  expect(new Set(ofDatabase)).toContain(
    'catalog: find products < catalog: answer svc.catalog.products.resolve',
  );
  // A span for each chunk of a push, and not for each item or document.
  expect(ofDatabase.length).toBeLessThan(30);
  expect(spans.filter(({ failed }) => failed)).toEqual([]);

  const deliveries = spans.filter(({ name }) => name === 'deliver');
  expect(hits.map(({ headers }) => String(headers['traceparent'])).toSorted()).toEqual(
    deliveries.map(({ spanId }) => `00-${traceId}-${spanId}-01`).toSorted(),
  );
  expect(deliveries.map(({ attributes }) => String(attributes['sync.eventId'])).toSorted()).toEqual(
    hits.map(({ headers }) => String(headers['webhook-id'])).toSorted(),
  );

  const lines = [
    ...(await linesOf('gateway', 'request')),
    ...(await linesOf('batches', 'request')),
    ...(await linesOf('catalog', 'request')),
    ...(await linesOf('webhooks', 'attempt')),
  ];
  const ofTrace = lines.filter((line) => line['traceId'] === traceId);
  expect(ofTrace.map((line) => String(line['subject'] ?? line['route'] ?? line['msg'])).toSorted()).toEqual([
    '/api/v1/integration/batches',
    'attempt',
    'attempt',
    'svc.batches.batches.push',
    'svc.catalog.products.resolve',
  ]);
  // What came without a trace has one of its own. A probe begins none, and has a line where it found the stack not ready.
  const traced = lines.filter((line) => line['route'] !== '/readyz' && line['level'] !== 'debug');
  expect(traced.every((line) => /^[\da-f]{32}$/.test(String(line['traceId'])))).toBe(true);
});

it('a push without a trace begins a trace, and probes begin none', async () => {
  const acme = openClient(stack);
  await acme.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'Nordic' }] });
  await fetch(`${stack.gateway}/readyz`);
  await fetch(`${stack.gateway}/healthz`);
  const first = await eventually(
    () =>
      collector.spans.find(
        ({ name, attributes }) =>
          name === 'POST /api/v1/integration/suppliers' &&
          attributes['sync.integration'] === acme.integration,
      ),
    (span) => span !== undefined,
    30_000,
  );
  expect(first?.parentSpanId).toBe('');
  await eventually(
    () => branchesOf(spansOf(first?.traceId ?? '')),
    (branches) => branches.includes('webhooks: fan out < catalog: announce'),
    30_000,
  );
  expect(collector.spans.filter(({ name }) => /readyz|healthz|health/.test(name))).toEqual([]);
  // A sweeper that looks for what was left behind, or a watcher that pings, belongs to no request.
  const roots = collector.spans.filter(({ parentSpanId }) => parentSpanId === '');
  expect(roots.filter(({ service }) => service !== 'gateway').map(({ name }) => name)).toEqual([]);
});
