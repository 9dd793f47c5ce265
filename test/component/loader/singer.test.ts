import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client, PushOutcome } from '@integration-sync/client';
import { expect, it, onTestFinished } from 'vitest';
import { parseMessage } from '../../../loader/src/singer/messages.ts';
import { Target, type TargetOptions } from '../../../loader/src/singer/singer-target.ts';
import { eventually } from '../../support/eventually.ts';
import { useFolder } from '../../support/use-folder.ts';

// When a STATE comes out, with a service whose answers a test lets go.

const folder = useFolder();

type Action = 'created' | 'failed';
const outcomeOf = (actions: Action[], code = 'required'): PushOutcome =>
  ({
    details: actions.map((action, index) => ({
      index,
      action,
      changedFields: [],
      problems: action === 'failed' ? [{ pointer: '', code, detail: `it is ${code}` }] : [],
      ignored: [],
    })),
    records: actions.map(() => ({ externalId: '', internalId: '', status: 'CREATED' })),
  }) as unknown as PushOutcome;

function openTarget(send: TargetOptions['send'], client: object = {}) {
  const states: unknown[] = [];
  const said: string[] = [];
  const target = new Target({
    client: client as Client,
    send,
    rulesOf: () => ({}),
    inFlightMax: 2,
    rejectsFolder: join(folder.path, 'rejects'),
    mostPercent: 10,
    emit: (state) => void states.push(JSON.parse(state)),
    say: (text) => void said.push(text),
  });
  onTestFinished(() => target[Symbol.asyncDispose]());
  const take = async (...messages: object[]): Promise<void> => {
    for (const message of messages) await target.take(JSON.stringify(message));
  };
  return { target, states, said, take };
}

const schema = (stream: string, ...columns: string[]) => ({
  type: 'SCHEMA',
  stream,
  schema: { properties: Object.fromEntries(columns.map((column) => [column, {}])) },
  key_properties: [],
});
const suppliers = schema('public-suppliers', 'external_id', 'name', '_sdc_extracted_at');
const record = (id: number | string) => ({
  type: 'RECORD',
  stream: 'public-suppliers',
  record: { external_id: id, name: 'One' },
});
const state = (value: number) => ({ type: 'STATE', value });

it('the Singer target prints a STATE once all records before it are acknowledged, and not sooner', async () => {
  const answers: (() => void)[] = [];
  const { target, states, take } = openTarget(
    (_kind, items) =>
      new Promise((settle) => {
        answers.push(() => settle(outcomeOf(items.map(() => 'created'))));
      }),
  );
  await take(suppliers, state(0));
  expect(states).toEqual([0]);
  // A push takes 500.
  const whole = Array.from({ length: 500 }, (_, index) => record(index + 1));
  await take(record(0), state(1), ...whole, state(2), state(3));
  const drained = target.drain();
  await eventually(
    () => answers.length,
    (count) => count === 2,
  );
  answers[1]?.();
  await new Promise((settle) => setImmediate(settle));
  expect(states).toEqual([0]);
  answers[0]?.();
  await drained;
  expect(states).toEqual([0, 3]);
  expect(target.counts).toEqual({ accepted: 501, rejected: 0 });
});

it('the Singer target prints a STATE as its tap wrote it, with large numbers', () => {
  const value = '{"value": {"id": 1234567890123456789, "at": [1.0, ",}"]}, "key": "a\\"\\\\"}';
  for (const line of [`{"type":"STATE","value":${value}}`, `{ "value" : ${value} , "type": "STATE" }`])
    expect(parseMessage(line, 1)).toEqual({ type: 'STATE', value });
});

it('the Singer target sends matched columns, and leaves out the other columns', async () => {
  const sent: object[] = [];
  const { target, take } = openTarget(async (kind, items) => {
    sent.push({ kind, items });
    return outcomeOf(items.map(() => 'created'));
  });
  await take(suppliers, {
    ...record(4711),
    record: { external_id: 4711, name: 'One', _sdc_extracted_at: 'now' },
  });
  await target.drain();
  expect(sent).toEqual([{ kind: 'suppliers', items: [{ externalId: '4711', name: 'One' }] }]);
});

it('the Singer target counts a rejected record as acknowledged once it is on disk', async () => {
  const { target, states, take } = openTarget(async (_kind, items) =>
    outcomeOf(items.map(({ externalId }) => (externalId === '2' ? 'failed' : 'created'))),
  );
  await take(suppliers, record(1), record(2), record(3), state(9));
  await target.drain();
  expect(states).toEqual([9]);
  expect(target.counts).toEqual({ accepted: 2, rejected: 1 });
  const [file = ''] = await readdir(join(folder.path, 'rejects'));
  expect(file).toBe('suppliers-public-suppliers.ndjson');
  const line = await readFile(join(folder.path, 'rejects', file), 'utf8');
  expect(JSON.parse(line)).toEqual({ external_id: 2, name: 'One', '#row': 3, '#reason': 'it is required' });
  await target[Symbol.asyncDispose]();
});

it('the Singer target writes rejected records of a tap that sends no STATE after them', async () => {
  const { target, take } = openTarget(async (_kind, items) => outcomeOf(items.map(() => 'failed')));
  await take(suppliers, state(1), record(2));
  await target.drain();
  expect(await readdir(join(folder.path, 'rejects')).catch(() => [])).toHaveLength(1);
  const line = await readFile(join(folder.path, 'rejects/suppliers-public-suppliers.ndjson'), 'utf8');
  expect(JSON.parse(line)).toMatchObject({ external_id: 2 });
  await target[Symbol.asyncDispose]();
});

it('the Singer target repeats a record whose reference arrives after the record, before it prints a later STATE', async () => {
  const sent: string[] = [];
  const { target, states, take } = openTarget(async (kind, items) => {
    sent.push(`${kind} ${items.length}`);
    const isLacking = kind === 'products' && !sent.includes('suppliers 1');
    return outcomeOf(
      items.map(() => (isLacking ? 'failed' : 'created')),
      'reference_not_found',
    );
  });
  await take(schema('products', 'externalId', 'name', 'supplierExternalId'));
  const products = Array.from({ length: 1_000 }, (_, index) => ({
    type: 'RECORD',
    stream: 'products',
    record: { externalId: `P-${index}`, name: 'Oak', supplierExternalId: '1' },
  }));
  await take(...products, state(1));
  while (sent.length === 0) await new Promise((settle) => setImmediate(settle));
  expect(states).toEqual([]);
  await take(suppliers, record(1), state(2));
  await target.drain();
  expect(states).toEqual([2]);
  expect(target.counts).toEqual({ accepted: 1_001, rejected: 0 });
});

it('the Singer target repeats a record with a late reference after ACTIVATE_VERSION of other streams, and archives no record of this stream', async () => {
  const sent: string[] = [];
  const archived: unknown[] = [];
  const service = {
    async *pages() {
      yield { total: 100, nextSince: '2026-03-31T00:00:00.000Z' };
    },
    async *list() {
      yield* ['P-1', 'gone'].map((externalId) => ({ externalId, syncStatus: 'SYNCED' }));
    },
    archive: async (kind: string, ids: string[]) => void archived.push(kind, ...ids),
  };
  const { target, take } = openTarget(async (kind, items) => {
    sent.push(kind);
    const isLacking = kind === 'products' && !sent.includes('suppliers');
    return outcomeOf(
      items.map(() => (isLacking ? 'failed' : 'created')),
      'reference_not_found',
    );
  }, service);
  const product = { externalId: 'P-1', name: 'Oak', supplierExternalId: '1' };
  await take(schema('products', 'externalId', 'name', 'supplierExternalId'));
  await take({ type: 'RECORD', stream: 'products', record: product, version: 1 });
  await take({ type: 'ACTIVATE_VERSION', stream: 'products', version: 1 });
  await take(suppliers, { ...record(1), version: 1 });
  await target.drain();
  expect(sent).toEqual(['products', 'suppliers', 'products']);
  expect(target.counts).toEqual({ accepted: 2, rejected: 0 });
  expect(archived).toEqual(['products', 'gone']);
});

it('the Singer target repeats a record with a late reference where a later record with the same id was rejected', async () => {
  const sent: unknown[][] = [];
  const { target, take } = openTarget(async (_kind, items) => {
    const names = items.map(({ name }) => name);
    sent.push(names);
    const outcomes = names.map((name) =>
      name === 'Wrong'
        ? outcomeOf(['failed'])
        : outcomeOf([sent.length === 1 ? 'failed' : 'created'], 'reference_not_found'),
    );
    return { ...outcomeOf([]), details: outcomes.flatMap(({ details }) => details) };
  });
  await take(schema('products', 'externalId', 'name', 'supplierExternalId'));
  for (const name of ['Oak', 'Wrong']) {
    const product = { externalId: 'P-1', name, supplierExternalId: '1' };
    await take({ type: 'RECORD', stream: 'products', record: product });
  }
  await target.drain();
  expect(sent).toEqual([['Oak', 'Wrong'], ['Oak']]);
  expect(target.counts).toEqual({ accepted: 1, rejected: 1 });
});

it('ACTIVATE_VERSION archives missing records, except for a kind of record that two streams write', async () => {
  const archived: unknown[] = [];
  const service = {
    async *pages() {
      yield { total: 100, nextSince: '2026-03-31T00:00:00.000Z' };
    },
    async *list(kind: string) {
      for (let count = kind === 'products' ? 1 : 11; count > 0; count -= 1)
        yield { externalId: 'gone', syncStatus: 'SYNCED' };
    },
    archive: async (kind: string, ids: string[]) => void archived.push(kind, ...ids),
  };
  const { said, take } = openTarget(async (_kind, items) => outcomeOf(items.map(() => 'created')), service);
  const streams = ['suppliers_eu', 'suppliers_us', 'products', 'batches'];
  for (const stream of streams) {
    await take(schema(stream, 'externalId', 'name', 'productExternalId', 'batchNumber'));
    await take({ type: 'RECORD', stream, record: { externalId: stream, name: 'One' }, version: 1 });
  }
  for (const stream of streams) await take({ type: 'ACTIVATE_VERSION', stream, version: 1 });
  expect(archived).toEqual(['products', 'gone']);
  expect(said.at(-1)).toMatch(
    /^batches: 11 of 100 records were not in the last load, .* prune_most 11 lets them go/,
  );
});

it('ACTIVATE_VERSION archives no record after the rejection of a record whose id cannot be read', async () => {
  const service = {
    async *pages() {
      yield { total: 100, nextSince: '2026-03-31T00:00:00.000Z' };
    },
  };
  const { said, take } = openTarget(async (_kind, items) => outcomeOf(items.map(() => 'created')), service);
  const stream = 'products';
  await take(schema(stream, 'externalId', 'name'));
  for (const externalId of ['P-1', 2.5])
    await take({ type: 'RECORD', stream, record: { externalId, name: 'One' }, version: 1 });
  await take({ type: 'ACTIVATE_VERSION', stream, version: 1 });
  expect(said).toEqual([
    'products: nothing is archived, as records whose ids cannot be read were rejected.\n',
  ]);
});

it('the Singer target stops without a STATE at a RECORD before its SCHEMA, at a BATCH and at an invalid message', async () => {
  const { states, take, target } = openTarget(async (_kind, items) => outcomeOf(items.map(() => 'created')));
  await expect(take(record(1), state(1))).rejects.toThrow(
    'Message 1: a RECORD of public-suppliers before its SCHEMA',
  );
  await expect(target.take('nonsense')).rejects.toThrow('Message 2: it is no JSON: nonsense');
  await expect(take({ type: 'STATE' })).rejects.toThrow('Message 3: it has no value: {"type":"STATE"}');
  await expect(take({ type: 'BATCH' })).rejects.toThrow('BATCH messages are not taken');
  await expect(take(schema('vendors', 'id'))).rejects.toThrow('The stream vendors has no kind of records');
  await expect(take(schema('suppliers', 'id'))).rejects.toThrow('no column is "externalId"');
  await take({ type: 'LOG', text: 'hello' });
  expect(states).toEqual([]);
});
