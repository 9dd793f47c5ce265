// The trace of an event on its way through webhooks: to which log lines, spans and receivers it comes.
import { randomUUID } from 'node:crypto';
import { eventBatchesStreamSpec, eventsStreamSpec, publishWithBatch } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { branchesOf, openCollector } from '../../support/collector.ts';
import { eventually } from '../../support/eventually.ts';
import { answer, openReceiver } from '../../support/receiver.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

const trace = (n: number): string => `00-${'a'.repeat(31)}${n}-${'b'.repeat(15)}${n}-01`;
const traceId = (n: number): string => `${'a'.repeat(31)}${n}`;

let house: House;
beforeAll(async () => {
  house = await openHouse();
  await house.bus.ensureStream(eventsStreamSpec({}));
  await house.bus.ensureStream(eventBatchesStreamSpec({}));
});
afterAll(() => house[Symbol.asyncDispose]());

/** As catalog announces it. Resolves with the id of the event. */
async function announce(integration: string, traceparent?: string): Promise<string> {
  const id = randomUUID();
  const body = JSON.stringify({
    event: 'supplier.created',
    timestamp: new Date().toISOString(),
    integrationId: integration,
    data: { externalId: 'S-1', internalId: 'sup_1' },
  });
  const event = { subject: `events.${integration}.supplier.created`, id, body };
  await publishWithBatch(house.bus, { announcer: 'catalog', integration, events: [event], traceparent });
  return id;
}

const attemptsOf = (eventId: string): Record<string, unknown>[] =>
  house.lines
    .map((line): Record<string, unknown> => JSON.parse(line))
    .filter((line) => line['msg'] === 'attempt' && line['eventId'] === eventId);

describe('without a collector', () => {
  it('each attempt is logged with the trace of its event, and deliveries have no traceparent', async () => {
    await using _replica = await house.start();
    let failures = 1;
    await using receiver = await openReceiver((hit, response, request) =>
      answer((failures -= 1) >= 0 ? 500 : 204)(hit, response, request),
    );
    const client = house.newClient();
    await client.register(receiver.url);
    const traced = await announce(client.integration, trace(1));
    await receiver.received(2);
    const untraced = await announce(client.integration);
    await receiver.received(3);
    const first = await eventually(
      () => attemptsOf(traced),
      (lines) => lines.length === 2,
    );
    expect(first.map((line) => [line['outcome'], line['traceId']])).toEqual([
      ['failed', traceId(1)],
      ['succeeded', traceId(1)],
    ]);
    const [other] = await eventually(
      () => attemptsOf(untraced),
      (lines) => lines.length === 1,
    );
    expect(other).not.toHaveProperty('traceId');
    expect(receiver.hits.some(({ headers }) => 'traceparent' in headers)).toBe(false);
  });

  it('with WEBHOOK_TRACEPARENT a delivery has the traceparent of its event', async () => {
    await using _replica = await house.start({}, { WEBHOOK_TRACEPARENT: 'true' });
    await using receiver = await openReceiver();
    const client = house.newClient();
    await client.register(receiver.url);
    const traced = await announce(client.integration, trace(2));
    const untraced = await announce(client.integration);
    const hits = await receiver.received(2);
    const told = hits.map(({ headers }) => [headers['webhook-id'], headers['traceparent']] as const);
    expect(new Map(told)).toEqual(
      new Map([
        [traced, trace(2)],
        [untraced, undefined],
      ]),
    );
  });
});

describe('with a collector', () => {
  it('the span of an attempt is below the span of its push, and after a replay below the span of the replay request', async () => {
    await using collector = await openCollector();
    await using replica = await house.start(
      {},
      { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
    );
    const client = house.newClient();
    await using receiver = await openReceiver();
    const { id } = await client.register(receiver.url);
    const began = new Date(Date.now() - 1_000).toISOString();
    // Of three pushes that are fanned out in one go.
    const ids = await Promise.all([1, 2, 3].map((n) => announce(client.integration, trace(n))));
    await receiver.received(3);
    const reply = await house.bus.request('svc.webhooks.endpoints.replay', {
      headers: { integration: client.integration, 'request-id': 'r', id, traceparent: trace(4) },
      body: JSON.stringify({ since: began }),
      timeoutMs: 30_000,
    });
    expect(JSON.parse(Buffer.from(reply.body).toString())).toEqual({ queued: 3 });
    await receiver.received(6);
    await replica[Symbol.asyncDispose]();
    for (const n of [1, 2, 3]) {
      const spans = collector.spans.filter((span) => span.traceId === traceId(n));
      expect(branchesOf(spans).toSorted()).toEqual([
        'webhooks: deliver < webhooks: fan out',
        `webhooks: fan out < ${'b'.repeat(15)}${n}`,
      ]);
      expect(spans.find(({ name }) => name === 'deliver')?.attributes).toMatchObject({
        'sync.eventId': ids[n - 1],
        'sync.endpoint': id,
        'http.response.status_code': 204,
      });
    }
    const ofReplay = branchesOf(collector.spans.filter((span) => span.traceId === traceId(4)));
    expect(ofReplay).toContain('webhooks: fan out < webhooks: answer svc.webhooks.endpoints.replay');
    const replayed = 'webhooks: deliver < webhooks: fan out';
    expect(ofReplay.filter((branch) => branch === replayed)).toHaveLength(3);
    expect(JSON.stringify(collector.spans)).not.toContain(receiver.url);
  });
});
