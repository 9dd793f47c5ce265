// What a running stack serves to Prometheus, beside the list that the documents, the dashboards and the rules are made from; and how
// much it logs.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { metricRows, metricsOfNode } from '@integration-sync/dev/metrics';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Stack } from '@integration-sync/dev/stack';
import { readExpressions } from '../support/deploy-files.ts';
import { readMetrics, type ServedMetric } from '../support/metrics.ts';
import { parsePromql } from '../support/promql.ts';
import { openReceiver } from '../support/receiver.ts';
import { openClient, startTestStack } from '../support/stack.ts';

const revision = 'a1b2c3d';
let stack: Stack;

beforeAll(async () => {
  stack = await startTestStack({ environment: { BUILD_REVISION: revision } });
});
afterAll(async () => stack[Symbol.asyncDispose]());

const served = async (): Promise<ServedMetric[]> =>
  (await Promise.all(Object.values(stack.metrics()).flat().map(readMetrics))).flat();

/** Something of everything, so that metrics with labels have series: a push, a delivery, a disabled endpoint. */
async function makeTraffic(): Promise<void> {
  const acme = openClient(stack);
  await using receiver = await openReceiver();
  const registered = await acme.post('/webhook-events', { url: receiver.url, events: ['supplier.created'] });
  expect(registered.status).toBe(201);
  const pushed = await acme.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'Oak' }] });
  expect(pushed.status).toBe(200);
  await receiver.received(1);
  const { id } = registered.body as { id: string };
  expect((await acme.send('PATCH', `/webhook-events/${id}`, { active: false })).status).toBe(200);
}

const isOurs = ({ name }: { name: string }): boolean => !/^(process|nodejs)_/.test(name);
const shapeOf = ({ name, type }: { name: string; type: string }): string => `${type} ${name}`;

/** The sets of labels that the series of a metric have, each as one text. */
function labelsIn(metrics: readonly ServedMetric[], name: string): string[] {
  const found = metrics.filter((metric) => metric.name === name);
  return [...new Set(found.flatMap(({ labels }) => labels.map((set) => set.join())))];
}

it('the services serve exactly the documented metrics, with their types and labels', async () => {
  await makeTraffic();
  // The receiver has the delivery a moment before its replica counts it.
  await expect
    .poll(async () => labelsIn(await served(), 'webhook_attempts_total'))
    .toEqual(['outcome,service']);
  const metrics = await served();
  const documented = metricRows.flatMap((row) => row.metrics);
  expect([...new Set(metrics.filter(isOurs).map(shapeOf))].toSorted()).toEqual(
    documented.map(shapeOf).toSorted(),
  );
  expect(metrics.map(shapeOf)).toEqual(expect.arrayContaining(metricsOfNode.map(shapeOf)));
  const all = [...documented, ...metricsOfNode];
  expect(all.map(({ name }) => [name, labelsIn(metrics, name)])).toEqual(
    all.map(({ name, labels = [] }) => [name, [[...labels, 'service'].toSorted().join()]]),
  );
});

it('the services serve every metric that a panel or an alerting rule queries', async () => {
  const series = new Set((await served()).flatMap((metric) => metric.series));
  const asked = (await readExpressions()).flatMap(([where, expression]) =>
    parsePromql(expression).selectors.map(({ metric }) => ({ where, metric })),
  );
  expect(asked.length).toBeGreaterThan(50);
  expect(asked.filter(({ metric }) => !series.has(metric))).toEqual([]);
});

it('each process reports its build to Prometheus and to nats micro info', async () => {
  const { version } = (await import('../../package.json', { with: { type: 'json' } })).default;
  for (const [service, urls] of Object.entries(stack.metrics())) {
    for (const url of urls) {
      const text = await (await fetch(url)).text();
      expect(text).toContain(
        `sync_build_info{version="${version}",revision="${revision}",service="${service}"} 1\n`,
      );
    }
  }
  const server = await connect({ servers: stack.nats });
  onTestFinished(() => server.close());
  const builds = new Map<string, unknown>();
  for await (const answer of await server.requestMany('$SRV.INFO', '', {
    strategy: 'count',
    maxMessages: 4,
    maxWait: 10_000,
  })) {
    const { name, ...info } = answer.json<{ name: string; version: string; metadata: unknown }>();
    builds.set(name, [info.version, info.metadata]);
  }
  expect(Object.fromEntries(builds)).toEqual(
    Object.fromEntries(Object.keys(stack.metrics()).map((service) => [service, [version, { revision }]])),
  );
});

/** The bytes that the services have logged. */
async function loggedBytes(): Promise<number> {
  const names = (await readdir(stack.logFolder)).filter((name) =>
    /^(gateway|catalog|batches|webhooks)/.test(name),
  );
  expect(names.length).toBeGreaterThanOrEqual(4);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(stack.logFolder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

it('the services log at most 4 KB for a push of 500 items to one webhook', async () => {
  const acme = openClient(stack);
  await using receiver = await openReceiver();
  await acme.post('/webhook-events', { url: receiver.url, events: ['supplier.created'] });
  const before = await loggedBytes();
  const suppliers = Array.from({ length: 500 }, (_, index) => ({ externalId: `S-${index}`, name: 'Oak' }));
  expect((await acme.post('/suppliers', { suppliers })).status).toBe(200);
  await receiver.received(500);
  await expect.poll(async () => (await loggedBytes()) - before).toBeGreaterThan(500);
  const logged = (await loggedBytes()) - before;
  expect(logged).toBeLessThan(4_096);
});
