// Spans on their way to a collector, as it is and as it should not be.
import { Failure } from '@integration-sync/contracts';
import { readConfig, tracingSettings } from '@integration-sync/runtime/config';
import { openTracing, traceIdOf, type Tracing } from '@integration-sync/runtime/tracing';
import { Type } from 'typebox';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openCollector, type Collector } from '../../support/collector.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestLog, type TestLog } from '../../support/log.ts';

let collector: Collector;
let log: TestLog;

beforeEach(async () => {
  collector = await openCollector();
  log = openTestLog();
});
afterEach(() => collector[Symbol.asyncDispose]());

const configOf = (settings: Record<string, string>) => readConfig(Type.Object(tracingSettings), settings);

async function open(settings: Record<string, string> = {}): Promise<Tracing> {
  const config = configOf({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    ...settings,
  });
  const tracing = await openTracing({ service: 'catalog', config, log: log.log });
  if (tracing === undefined) throw new Error('nothing is traced');
  return tracing;
}

const said = (words: string): number => log.text().split(words).length - 1;

const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const step = (tracing: Tracing, from: string | undefined, name = 'step') =>
  tracing.begin({ name, kind: 'server', parent: from });

it('the log names the collector without the query of its address, which may be a key', async () => {
  const address = `${collector.url}/v1/traces?key=hunter2`;
  await using _tracing = await open({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: address });
  expect([said('/v1/traces'), said('hunter2')]).toEqual([1, 0]);
});

it('the collector gets every span with its parent, kind and attributes', async () => {
  await using tracing = await open();
  const first = tracing.begin({ name: 'first', kind: 'server', parent, attributes: { a: 1, b: undefined } });
  const second = tracing.begin({ name: 'second', kind: 'client', parent: first.traceparent });
  second.set({ c: 'x' });
  second.end(new Failure('unavailable', 'MongoDB is away.'));
  first.end(new Failure('invalid_request', 'The body is no object.'));
  const third = step(tracing, undefined);
  third.end(new TypeError('holds what a record holds'));
  await tracing[Symbol.asyncDispose]();
  const [two, one, three] = collector.spans;
  expect(one).toEqual({
    service: 'catalog',
    name: 'first',
    kind: 'server',
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: first.traceparent.split('-')[2],
    parentSpanId: '00f067aa0ba902b7',
    attributes: { a: 1, 'error.type': 'invalid_request' },
    failed: false,
  });
  expect(two).toMatchObject({
    name: 'second',
    kind: 'client',
    traceId: one?.traceId,
    parentSpanId: one?.spanId,
    attributes: { c: 'x', 'error.type': 'unavailable' },
    failed: true,
  });
  expect(three).toMatchObject({ parentSpanId: '', attributes: { 'error.type': 'TypeError' }, failed: true });
  expect(three?.traceId).toBe(traceIdOf(third.traceparent));
  expect(JSON.stringify(collector.spans)).not.toContain('what a record holds');
  expect(collector.contentTypes).toEqual(['application/json']);
});

it('spans are encoded as protobuf unless a setting says otherwise', async () => {
  collector.behave('refuses');
  const tracing = await open({ OTEL_EXPORTER_OTLP_PROTOCOL: '' });
  step(tracing, parent).end();
  await tracing[Symbol.asyncDispose]();
  expect(collector.contentTypes).toEqual(['application/x-protobuf']);
});

it('requests to the collector have the configured headers, which no log line shows', async () => {
  const tracing = await open({ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20key,x-other=b' });
  step(tracing, parent).end();
  await tracing[Symbol.asyncDispose]();
  expect(collector.headers).toMatchObject({ 'x-key': 'a key', 'x-other': 'b' });
  expect(log.text()).not.toContain('key');
});

it('a span is the current span of its work until the span ends, and of no other work', async () => {
  await using tracing = await open();
  const [one, other] = [step(tracing, parent), step(tracing, parent)];
  const gate = Promise.withResolvers<void>();
  const seen = one.within(async () => {
    const early = tracing.current;
    await gate.promise;
    return [early, tracing.current];
  });
  expect(tracing.current).toBeUndefined();
  expect(other.within(() => tracing.current)).toBe(other);
  one.end();
  gate.resolve();
  expect(await seen).toEqual([one, undefined]);
});

it.each([
  ['always_on', { sampled: 20, caller: true }],
  ['always_off', { sampled: 0, caller: false }],
  ['parentbased_always_off', { sampled: 0, caller: true }],
  ['parentbased_always_on', { sampled: 20, caller: true }],
])(
  'the sampler %s decides which traces of this process and of callers are recorded',
  async (name, { sampled, caller }) => {
    const tracing = await open({ OTEL_TRACES_SAMPLER: name });
    const traces = Array.from({ length: 20 }, () => step(tracing, undefined));
    const ofCaller = step(tracing, parent);
    for (const span of [...traces, ofCaller]) span.end();
    await tracing[Symbol.asyncDispose]();
    expect(collector.spans.filter(({ parentSpanId }) => parentSpanId === '')).toHaveLength(sampled);
    expect(collector.spans.some(({ parentSpanId }) => parentSpanId !== '')).toBe(caller);
    // What is not recorded is still one trace for those that come after.
    expect(traceIdOf(ofCaller.traceparent)).toBe(traceIdOf(parent));
    expect(ofCaller.traceparent.endsWith(caller ? '-01' : '-00')).toBe(true);
  },
);

it('the sampler parentbased_traceidratio records the configured share of the traces', async () => {
  const tracing = await open({
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  });
  for (let n = 0; n < 1_000; n += 1) step(tracing, undefined).end();
  await tracing[Symbol.asyncDispose]();
  expect(collector.spans.length).toBeGreaterThan(150);
  expect(collector.spans.length).toBeLessThan(350);
});

// A queue of 2,048, and 512 that are on their way.
const heldMax = 2_048 + 512;

it('while the collector does not answer, a bounded number of spans is kept, and a stop waits a second', async () => {
  collector.behave('says nothing');
  const tracing = await open();
  for (let n = 0; n < 50_000; n += 1) {
    step(tracing, undefined, `step ${n}`).end();
    if (n % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  collector.behave('takes');
  await eventually(
    () => collector.spans.length,
    (count) => count >= heldMax,
    60_000,
  );
  collector.behave('says nothing');
  step(tracing, undefined).end();
  const stoppedAt = performance.now();
  await tracing[Symbol.asyncDispose]();
  // The exporter would wait for ten.
  expect(performance.now() - stoppedAt).toBeLessThan(5_000);
  collector.behave('takes');
  // What found no room in the queue was dropped; the last one had room.
  expect(collector.spans.length).toBeLessThanOrEqual(heldMax + 1);
});

it('the log has one line when a collector refuses spans, and one when it accepts spans again', async () => {
  collector.behave('refuses');
  await using tracing = await open();
  const sayMany = (): void => {
    for (let n = 0; n < 512; n += 1) step(tracing, undefined).end();
  };
  sayMany();
  await eventually(
    () => collector.contentTypes.length,
    (count) => count === 1,
  );
  sayMany();
  await eventually(
    () => collector.contentTypes.length,
    (count) => count === 2,
  );
  expect(said('the collector takes no spans')).toBe(1);
  collector.behave('takes');
  sayMany();
  await eventually(
    () => said('the collector takes spans again'),
    (count) => count === 1,
  );
  expect(said('the collector takes no spans')).toBe(1);
});

it.each([
  [{}, 'no collector is set'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }, 'it is switched off'],
])('with %j no span is made, because %s', async (settings, _why) => {
  expect(await openTracing({ service: 'catalog', config: configOf(settings), log: log.log })).toBeUndefined();
});

it.each([
  ['http://127.0.0.1:4318', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1:4318/', 'http://127.0.0.1:4318/v1/traces'],
  ['http://127.0.0.1:4318/otlp', 'http://127.0.0.1:4318/otlp/v1/traces'],
])('spans for %s go to %s', async (base, whole) => {
  await using _tracing = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: base });
  expect(log.text()).toContain(`"collector":"${whole}"`);
});

it('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used unchanged', async () => {
  const own = `${collector.url}/own`;
  await using _tracing = await open({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own });
  expect(log.text()).toContain(`"collector":"${own}"`);
});

it('a setting that sends traces by another protocol than HTTP is refused', () => {
  expect(() => configOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow(
    'OTEL_EXPORTER_OTLP_PROTOCOL: expected one of http/protobuf, http/json, got "grpc"',
  );
});
