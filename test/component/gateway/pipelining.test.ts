import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { subjects } from '@integration-sync/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { token } from '../../support/access-tokens.ts';
import { echo, openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { openRaw, type RawConnection } from '../../support/raw-http.ts';

// Requests that a client sends without waiting for answers. The gateway has 32 of a connection in hand at most, answers
// all of them in their order, and meanwhile serves others.

const unansweredMax = 32;
const stack = new AsyncDisposableStack();
let gateway: TestGateway;
let held: Promise<void> | undefined;

/** How many requests of one connection Node has begun and not finished: now, and at most. */
interface Count {
  now: number;
  most: number;
}
const counts = new Map<Socket, Count>();
const countBy = (by: number) => (message: unknown) => {
  const { socket } = message as { socket: Socket };
  const { now, most } = counts.get(socket) ?? { now: 0, most: 0 };
  counts.set(socket, { now: now + by, most: Math.max(most, now + by) });
};

beforeAll(async () => {
  for (const [channel, by] of [
    ['http.server.request.start', 1],
    ['http.server.response.finish', -1],
  ] as const) {
    const listener = countBy(by);
    subscribe(channel, listener);
    stack.defer(() => void unsubscribe(channel, listener));
  }
  const nats = stack.use(await startNats());
  stack.use(
    await openServices(nats.url, {
      [subjects.suppliersList]: async (request) => {
        await held;
        return echo(request);
      },
    }),
  );
  gateway = stack.use(await openReadyGateway(nats.url));
});
beforeEach(() => counts.clear());
afterAll(() => stack.disposeAsync());

const mostOpen = (): number => Math.max(...Array.from(counts.values(), ({ most }) => most));
const openNow = (): number => Array.from(counts.values()).reduce((sum, { now }) => sum + now, 0);

const authorization = `authorization: Bearer ${token()}\r\n`;
const headOf = (request: string, id: number): string =>
  `${request} HTTP/1.1\r\nhost: x\r\nx-request-id: ${id}\r\n`;
const health = (id: number): string => `${headOf('GET /healthz', id)}\r\n`;
const description = (id: number): string => `${headOf('GET /openapi.json', id)}\r\n`;
const list = (id: number): string => `${headOf('GET /api/v1/integration/suppliers', id)}${authorization}\r\n`;
const push = (id: number, framing: string): string =>
  `${headOf('POST /api/v1/integration/suppliers', id)}${authorization}content-type: application/json\r\n${framing}`;
const measured = (id: number): string => push(id, 'content-length: 16\r\n\r\n{"suppliers":[]}');
const chunked = (id: number): string =>
  push(id, 'transfer-encoding: chunked\r\n\r\n8\r\n{"suppli\r\n8\r\ners":[]}\r\n0\r\n\r\n');

const numbersTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/** The ids of the requests that were answered with 200, in the order of the answers. */
function readIds(connection: RawConnection, count: number): { ids: number[]; all: Promise<number[]> } {
  const ids: number[] = [];
  const { promise, resolve } = Promise.withResolvers<number[]>();
  let rest = '';
  connection.socket.on('data', (chunk: Buffer) => {
    const heads = (rest + chunk.toString('latin1')).split('HTTP/1.1 200 OK\r\n');
    rest = heads.length > 1 ? `HTTP/1.1 200 OK\r\n${heads.pop() ?? ''}` : (heads.pop() ?? '');
    for (const head of heads) note(head);
    // The last answer has none behind it.
    if (ids.length === count - 1 && /\r\n\r\n.+$/s.test(rest)) note(rest);
    if (ids.length === count) resolve(ids);
  });
  const note = (head: string): void => {
    const id = /x-request-id: (?<id>\d+)\r\n/.exec(head)?.groups?.['id'];
    if (id !== undefined) ids.push(Number(id));
  };
  return { ids, all: promise };
}

it('of 200 connections that send a request at the same moment, at most 32 begin theirs in one turn of the event loop', async () => {
  using connections = new DisposableStack();
  const count = 200;
  const raws = await Promise.all(
    numbersTo(count).map(async () => connections.use(await openRaw(gateway.port))),
  );
  for (const [id, raw] of raws.entries()) raw.send(health(id));
  await Promise.all(raws.map((raw) => raw.answer(10_000)));
  counts.clear();
  const begun = (): number => counts.size;
  for (const [id, raw] of raws.entries()) raw.send(health(id));
  const perTurn: number[] = [];
  while (begun() < count) {
    const before = begun();
    await turn();
    perTurn.push(begun() - before);
  }
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(32);
  expect(perTurn.length).toBeLessThan(100);
});

describe('pipelined requests', () => {
  it('are answered in order and at most 32 at a time, while another client is served', async () => {
    const count = 4_000;
    using connection = await openRaw(gateway.port);
    using neighbour = await openRaw(gateway.port);
    const { ids, all } = readIds(connection, count);
    connection.send(numbersTo(count).map(health).join(''));
    await expect.poll(() => ids.length, { timeout: 10_000, interval: 1 }).toBeGreaterThan(0);
    neighbour.send(health(1));
    expect(await neighbour.answer(10_000)).toMatchObject({ status: 200 });
    expect(ids.length).toBeLessThan(count);
    expect(await all).toEqual(numbersTo(count));
    expect(mostOpen()).toBeLessThanOrEqual(unansweredMax);
  }, 180_000);

  it('are begun while fewer than 32 requests of the connection are unanswered', async () => {
    const count = 100;
    const gate = Promise.withResolvers<void>();
    held = gate.promise;
    using connection = await openRaw(gateway.port);
    using neighbour = await openRaw(gateway.port);
    const { ids, all } = readIds(connection, count);
    const kinds = [list, measured, chunked, health];
    connection.send(
      numbersTo(count)
        .map((id) => kinds[id % kinds.length]?.(id) ?? '')
        .join(''),
    );
    await expect.poll(openNow, { timeout: 10_000 }).toBe(unansweredMax);
    neighbour.send(health(1));
    expect(await neighbour.answer(10_000)).toMatchObject({ status: 200 });
    for (const _ of numbersTo(50)) await turn();
    expect({ answered: ids.length, open: openNow() }).toEqual({ answered: 0, open: unansweredMax });
    gate.resolve();
    expect(await all).toEqual(numbersTo(count));
    expect(mostOpen()).toBe(unansweredMax);
  });

  it('are all answered although they come byte by byte, or are cut anywhere', async () => {
    held = undefined;
    const kinds = [health, measured, chunked, list];
    const text = numbersTo(12)
      .map((id) => kinds[id % kinds.length]?.(id) ?? '')
      .join('');
    for (const bytes of [3, 61, 1_000]) {
      using connection = await openRaw(gateway.port);
      connection.socket.setNoDelay(true);
      const { all } = readIds(connection, 12);
      for (let at = 0; at < text.length; at += bytes) {
        connection.send(text.slice(at, at + bytes));
        await turn();
      }
      expect(await all).toEqual(numbersTo(12));
    }
  }, 60_000);

  it('before a malformed request are answered, and requests after the malformed one are never begun', async () => {
    using connection = await openRaw(gateway.port);
    const { all } = readIds(connection, 200);
    connection.send(`${numbersTo(200).map(health).join('')}broken\r\n\r\n${health(200).repeat(100)}`);
    expect(await all).toEqual(numbersTo(200));
    await connection.closed;
  });

  it('of a client that reads no answers wait, and are answered once the client reads', async () => {
    // Some 7 MB of answers, which no buffer on the way takes.
    const count = 60;
    using connection = await openRaw(gateway.port);
    connection.socket.pause();
    connection.send(numbersTo(count).map(description).join(''));
    using neighbour = await openRaw(gateway.port);
    neighbour.send(health(1));
    expect(await neighbour.answer(10_000)).toMatchObject({ status: 200 });
    const { all } = readIds(connection, count);
    connection.socket.resume();
    expect(await all).toEqual(numbersTo(count));
    expect(mostOpen()).toBeLessThanOrEqual(unansweredMax);
  }, 120_000);
});
