import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { residentMb } from '../../dev/process/memory.ts';
import { openClient, startTestStack } from '../support/stack.ts';

// Bodies that cost a parser or a rule more than their size suggests, on several connections.
// What this proves: their sender's neighbour is served, and no service loses its memory or its connection by them.

let stack: Stack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack[Symbol.asyncDispose]());

const connections = 8;
const bytesMax = 5 * 1024 * 1024 - 1_024;
const residentMbMax = 512;

const filled = (before: string, unit: string, after: string): string =>
  before + unit.repeat(Math.floor((bytesMax - before.length - after.length) / unit.length)) + after;
const listOf = (count: number, element: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => element(at)).join(',');
const suppliers = (count: number, item: (at: number) => string): string =>
  `{"suppliers":[${listOf(count, item)}]}`;
const object = (count: number, name: (at: number) => string): string =>
  `{${listOf(count, (at) => `"${name(at)}":1`)}}`;
const named = (name: string): string => suppliers(500, (at) => `{"externalId":"S-${at}","name":"${name}"}`);

it.each<[string, 200 | 400, string]>([
  ['brackets that nothing closes', 400, filled('{"suppliers":', '[', '')],
  ['objects in each other', 400, filled('{"suppliers":', '{"a":', '')],
  ['300,000 keys', 400, object(300_000, (at) => `k${at}`)],
  ['one item of 60,000 keys', 200, suppliers(1, () => object(60_000, (at) => `k${at}`))],
  [
    '500 items of 120 keys of their own',
    200,
    suppliers(500, (item) => object(120, (at) => `k${item}_${at}`)),
  ],
  [
    '500 items whose columns are in another order each',
    200,
    suppliers(500, (item) => object(150, (at) => `c${(at * 7 + item * 13) % 199}`)),
  ],
  [
    'names that are written as escapes',
    200,
    suppliers(500, (item) => object(15, (at) => String.raw`\u0061${item}_${at}`)),
  ],
  ['a million items that are nothing', 400, filled('{"suppliers":[', '0,', '0]}')],
  ['a text of escapes', 200, filled('{"suppliers":["', String.raw`\u0041`, '"]}')],
  ['500 long names that end with half a character', 200, named(' a'.repeat(249) + String.raw`\ud800`)],
])(
  'a push of %s is answered %i, and concurrent pushes of another integration are served',
  async (_what, status, body) => {
    const sender = openClient(stack);
    const neighbour = openClient(stack);
    const headers = {
      authorization: `Bearer ${stack.token({ integration: sender.integration })}`,
      'content-type': 'application/json',
    };
    const send = async (): Promise<number> => {
      const answer = await fetch(`${stack.gateway}/api/v1/integration/suppliers`, {
        method: 'POST',
        headers,
        body,
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    const sent = Promise.all(Array.from({ length: connections }, send));
    const supplier = { externalId: 'S-1', name: 'Neighbour' };
    const served: number[] = [];
    for (let pushes = 0; pushes < 5; pushes += 1)
      served.push((await neighbour.post('/suppliers', { suppliers: [supplier] })).status);
    expect(served).toEqual([200, 200, 200, 200, 200]);
    // A sender over its share is answered 503.
    expect(new Set([...(await sent), status, 503])).toEqual(new Set([status, 503]));
  },
);

it('after pushes of costly bodies, each service uses bounded memory and has kept its NATS connection', async () => {
  const services = ['gateway', 'catalog', 'batches', 'webhooks'];
  for (const service of services) expect(residentMb(stack.pids()[service] ?? [])).toBeLessThan(residentMbMax);
  for (const file of await readdir(stack.logFolder)) {
    if (!services.some((service) => file.startsWith(service))) continue;
    expect(await readFile(join(stack.logFolder, file), 'utf8')).not.toContain('nats connection lost');
  }
});
