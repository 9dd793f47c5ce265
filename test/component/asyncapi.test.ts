// The description of the messages: it is what the contracts say, a linter accepts it, and each example is what it describes.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import {
  eventBatchesFilter,
  eventBatchesStream,
  eventKinds,
  eventSubject,
  eventsStream,
  readEventBatch,
} from '@integration-sync/contracts';
import { describeMessages } from '@integration-sync/gateway/asyncapi';
import { expect, it } from 'vitest';
import { openValidators } from '../../dev/storm/described.ts';

const root = resolve(import.meta.dirname, '../..');

interface Message {
  name: string;
  headers: object;
  payload: object;
  examples: { headers: object; payload: unknown }[];
}

interface Document {
  asyncapi: string;
  channels: Record<string, { address?: string; description: string; messages: Record<string, unknown> }>;
  operations: Record<string, { action: string; messages: { $ref: string }[] }>;
  components: { messages: Record<string, Message>; schemas: Record<string, unknown> };
}

const document = JSON.parse(JSON.stringify(describeMessages())) as Document;

it('docs/asyncapi.json is what npm run openapi writes', async () => {
  expect(JSON.parse(await readFile(join(root, 'docs/asyncapi.json'), 'utf8'))).toEqual(document);
});

it('the AsyncAPI document has the subject and the delivery of every kind of event', () => {
  const addresses = Object.values(document.channels).map(({ address }) => address);
  for (const kind of eventKinds) expect(addresses).toContain(eventSubject('{integration}', kind));
  expect(addresses.filter((address) => address?.startsWith('events.'))).toHaveLength(eventKinds.length);
  expect(Object.keys(document.channels['webhooks']?.messages ?? {})).toHaveLength(eventKinds.length);
  const text = JSON.stringify(document.channels);
  for (const stream of [eventsStream, eventBatchesStream]) expect(text).toContain(stream);
  expect(document.channels['eventBatches']?.address?.replaceAll(/\{\w+\}/g, '*')).toBe(eventBatchesFilter);
});

it('the AsyncAPI document has every referenced part, and no unused message', () => {
  const text = JSON.stringify(document);
  for (const [, path = ''] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const found = path
      .split('/')
      .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document);
    expect({ path, isThere: found !== undefined }).toEqual({ path, isThere: true });
  }
  const used = Object.values(document.operations).flatMap(({ messages }) => messages.map(({ $ref }) => $ref));
  const inChannels = Object.entries(document.channels).flatMap(([channel, { messages }]) =>
    Object.keys(messages).map((name) => `#/channels/${channel}/messages/${name}`),
  );
  const answered = inChannels.filter((path) => !/(?:Answer|Failure)$/.test(path));
  expect(used.toSorted()).toEqual(answered.toSorted());
});

it('each example of the AsyncAPI document is valid, and is invalid without its first key', () => {
  const validatorOf = openValidators(document.components);
  for (const { name, examples } of Object.values(document.components.messages)) {
    const isHeaders = validatorOf(name, 'headers')!;
    const isPayload = validatorOf(name, 'payload')!;
    expect(examples).toHaveLength(1);
    for (const example of examples) {
      expect([name, isHeaders(example.headers), isHeaders.errors]).toEqual([name, true, null]);
      expect([name, isPayload(example.payload), isPayload.errors]).toEqual([name, true, null]);
      if (typeof example.payload !== 'object' || example.payload === null) continue;
      const [first = ''] = Object.keys(example.payload);
      expect([name, isPayload({ ...example.payload, [first]: undefined })]).toEqual([name, false]);
    }
  }
  const [batch] = document.components.messages['EventBatch']?.examples ?? [];
  const read = readEventBatch(Buffer.from(String(batch?.payload)));
  expect(
    read
      ?.events((bytes) => Buffer.from(bytes).toString())
      .map(({ begin, rest }) => JSON.parse(begin.body + rest)),
  ).toEqual([document.components.messages['SupplierCreated']?.examples[0]?.payload]);
});

it('the AsyncAPI document passes the linter without an error or a warning', { timeout: 60_000 }, async () => {
  const linter = join(root, 'node_modules/.bin/redocly');
  const { stderr } = await promisify(execFile)(linter, ['lint', 'docs/asyncapi.json'], {
    cwd: root,
    env: {
      ...process.env,
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
      REDOCLY_TELEMETRY: 'off',
      NO_COLOR: '1',
    },
  });
  expect(stderr).toContain('Your API description is valid');
  // The rule of redocly.yaml for the other document is unknown to this one.
  expect(
    stderr.replace(/\[WARNING\] Unused rules found in redocly\.yaml: info-license\.\n.*\n/, ''),
  ).not.toMatch(/warning|error/i);
});
