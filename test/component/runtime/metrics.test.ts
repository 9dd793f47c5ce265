import { ConfigError } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { openMetrics, type Metrics } from '@integration-sync/runtime/metrics';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { Counter } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../support/servers.ts';

async function open(): Promise<Metrics> {
  const metrics = await openMetrics({ service: 'catalog', port: 0 });
  onTestFinished(() => metrics[Symbol.asyncDispose]());
  return metrics;
}

/** The value of one line, such as `sync_requests_total{subject="a",…} 3`, by its name and all its labels. */
async function read(
  { url }: Metrics,
  name: string,
  labels: Record<string, string>,
): Promise<number | undefined> {
  const text = await (await fetch(url)).text();
  const wanted = Object.entries({ ...labels, service: 'catalog' }).map(
    ([label, value]) => `${label}="${value}"`,
  );
  const line = text.split('\n').find((one) => {
    const [, head, inside = ''] = /^(\w+)\{(.*)\} /.exec(one) ?? [];
    return head === name && inside.split(',').toSorted().join() === wanted.toSorted().join();
  });
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

describe('the metrics of a process', () => {
  it('are served in the form that Prometheus reads', async () => {
    const { url } = await open();
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const text = await answer.text();
    expect(text).toMatch(/^nodejs_eventloop_lag_seconds\{service="catalog"\} [\d.]+$/m);
    expect(text).toMatch(/^process_resident_memory_bytes\{service="catalog"\} \d+$/m);
  });

  it('count requests and their durations by outcome, and count failures of the service separately', async () => {
    const metrics = await open();
    const subject = 'svc.catalog.suppliers.push';
    metrics.observeRequest({ subject, outcome: 'ok', seconds: 0.02 });
    metrics.observeRequest({ subject, outcome: 'ok', seconds: 0.2 });
    metrics.observeRequest({ subject, outcome: 'invalid_request', seconds: 0.001 });
    metrics.observeRequest({ subject, outcome: 'unavailable', seconds: 3 });
    metrics.observeRequest({ subject: 'svc.catalog.products.list', outcome: 'ok', seconds: 0.001 });

    expect(await read(metrics, 'sync_requests_total', { subject, outcome: 'ok' })).toBe(2);
    expect(await read(metrics, 'sync_requests_total', { subject, outcome: 'invalid_request' })).toBe(1);
    expect(await read(metrics, 'sync_requests_total', { subject, outcome: 'unavailable' })).toBe(1);
    expect(await read(metrics, 'sync_request_errors_total', { subject, outcome: 'unavailable' })).toBe(1);
    expect(
      await read(metrics, 'sync_request_errors_total', { subject, outcome: 'invalid_request' }),
    ).toBeUndefined();
    expect(await read(metrics, 'sync_request_errors_total', { subject, outcome: 'ok' })).toBeUndefined();
    // There is a series for what has not happened yet as well, so that its first time shows as an increase.
    for (const other of ['svc.catalog.products.list', 'svc.catalog.suppliers.erase']) {
      const fault = { subject: other, outcome: 'internal' };
      expect(await read(metrics, 'sync_requests_total', fault)).toBe(0);
      expect(await read(metrics, 'sync_request_errors_total', fault)).toBe(0);
    }
    expect(await read(metrics, 'sync_request_seconds_count', { subject })).toBe(4);
    expect(await read(metrics, 'sync_request_seconds_sum', { subject })).toBeCloseTo(3.221);
    expect(await read(metrics, 'sync_request_seconds_bucket', { subject, le: '0.025' })).toBe(2);
    expect(await read(metrics, 'sync_request_seconds_bucket', { subject, le: '2.5' })).toBe(3);
  });

  it('have the state of each engine that the process has asked, and of no other engine', async () => {
    const metrics = await open();
    const state: { nats: boolean; issuer: boolean | undefined } = { nats: false, issuer: undefined };
    metrics.engines.needs({ nats: () => state.nats, issuer: () => state.issuer });
    expect(await read(metrics, 'sync_engine_up', { engine: 'nats' })).toBe(0);
    expect(await read(metrics, 'sync_engine_up', { engine: 'issuer' })).toBeUndefined();
    Object.assign(state, { nats: true, issuer: true });
    expect(await read(metrics, 'sync_engine_up', { engine: 'nats' })).toBe(1);
    expect(await read(metrics, 'sync_engine_up', { engine: 'issuer' })).toBe(1);
  });

  it('are served beside /ready, which fails until the process has served, and never afterwards', async () => {
    const metrics = await open();
    const probe = async (): Promise<string> => {
      const answer = await fetch(new URL('/ready', metrics.url));
      return `${answer.status} ${await answer.text()}`;
    };
    expect(await probe()).toBe('503 the start has not ended\n');
    const state = { isUp: false };
    metrics.engines.needs({ mongodb: () => true, nats: () => state.isUp });
    expect(await probe()).toBe('503 waiting for nats: NATS_URL\n');
    expect(await read(metrics, 'sync_served', {})).toBe(0);
    state.isUp = true;
    metrics.engines.served();
    expect(await probe()).toBe('200 ready\n');
    state.isUp = false;
    expect(await probe()).toBe('200 ready\n');
    expect(await read(metrics, 'sync_served', {})).toBe(1);
  });

  it('are served beside /log, which has warnings and errors', async () => {
    const metrics = await open();
    const service = randomUUID();
    const log = openLog({ service, level: 'info', pretty: false, destination: { write() {} } });
    log.info('ordinary');
    log.error('an engine is away');
    const answer = await fetch(new URL('/log', metrics.url));
    const lines = (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answer.status).toBe(200);
    expect(lines.filter((line) => line.service === service)).toEqual([
      expect.objectContaining({ level: 'error', msg: 'an engine is away' }),
    ]);
  });

  it('contain the metrics of the service', async () => {
    const metrics = await open();
    const records = new Counter({ name: 'records_total', help: 'Records.', registers: [metrics.registry] });
    records.inc(7);
    expect(await read(metrics, 'records_total', {})).toBe(7);
  });

  it.each([
    ['GET', '/', 404],
    ['GET', '/metrics/', 404],
    ['GET', '/healthz', 404],
    ['POST', '/metrics', 405],
    ['DELETE', '/metrics', 405],
    ['GET', '/metrics?name[]=x', 200],
    ['HEAD', '/metrics', 200],
  ])('are served on a port where %s %s is %i', async (method, path, status) => {
    const { url } = await open();
    const answer = await fetch(new URL(path, url), { method });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'GET, HEAD' : null);
  });

  it('have the version and the revision of the build', async () => {
    const metrics = await openMetrics({
      service: 'catalog',
      build: { version: '1.2.3', revision: 'a1b2c3d' },
      port: 0,
    });
    onTestFinished(() => metrics[Symbol.asyncDispose]());
    expect(await read(metrics, 'sync_build_info', { version: '1.2.3', revision: 'a1b2c3d' })).toBe(1);
  });

  it('are separate for several services in one process', async () => {
    const [one, other] = [await open(), await open()];
    one.observeRequest({ subject: 'a', outcome: 'ok', seconds: 1 });
    expect(await read(one, 'sync_requests_total', { subject: 'a', outcome: 'ok' })).toBe(1);
    expect(await read(other, 'sync_requests_total', { subject: 'a', outcome: 'ok' })).toBeUndefined();
  });

  it('free their port, also while a request is under way', async () => {
    const metrics = await openMetrics({ service: 'catalog', port: 0 });
    const { port } = new URL(metrics.url);
    const asking = connect(Number(port), '127.0.0.1').on('error', () => {});
    onTestFinished(() => void asking.destroy());
    await once(asking, 'connect');
    asking.write('GET /metrics HTTP/1.1\r\n');
    await (await fetch(metrics.url)).text();
    await metrics[Symbol.asyncDispose]();
    await expect(fetch(metrics.url)).rejects.toThrow('fetch failed');
    await using again = await openMetrics({ service: 'catalog', port: Number(port) });
    expect((await fetch(again.url)).status).toBe(200);
  });
});

describe('a port that the process cannot listen on', () => {
  it('is a wrong setting where another process listens on it, and the other process goes on', async () => {
    await using owner = await listen(createServer((_request, response) => response.end('mine')));
    const opening = openMetrics({ service: 'catalog', port: owner.port });
    await expect(opening).rejects.toThrow(
      new ConfigError([
        `METRICS_PORT, METRICS_HOST: cannot listen on 127.0.0.1:${owner.port} (the port is taken; choose another, or 0 for any free one)`,
      ]),
    );
    expect(await (await fetch(owner.url)).text()).toBe('mine');
  });

  it('is a wrong setting where the machine does not have the address', async () => {
    // 192.0.2.0/24 is for documentation: no machine has it.
    const opening = openMetrics({ service: 'catalog', port: 0, host: '192.0.2.1' });
    await expect(opening).rejects.toThrow(/^METRICS_PORT, METRICS_HOST: cannot listen on 192\.0\.2\.1:0 \(/);
    await expect(opening).rejects.toBeInstanceOf(ConfigError);
  });
});
