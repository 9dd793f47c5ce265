import { Failure, subjects } from '@integration-sync/contracts';
import type { Engine } from '@integration-sync/dev/engines';
import type { GatewayDeps } from '@integration-sync/gateway';
import type { BusHandler } from '@integration-sync/runtime/bus';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bearer, token } from '../../support/access-tokens.ts';
import { eventually } from '../../support/eventually.ts';
import { openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';
import { openRaw, type RawAnswer, type RawConnection } from '../../support/raw-http.ts';

// Integrations share the budgets of bodies: the memory of the gateway, and the way to a service. One of them,
// the attacker, wants all of it; the other, the bystander, must not notice. Sizes are small, so that the
// tests send little.

const mebibyte = 1024 * 1024;
const memoryBytesMax = 6 * mebibyte;
const roadBytesMax = 3 * mebibyte;
const path = '/api/v1/integration/suppliers';

const outer = new AsyncDisposableStack();
let nats: Engine;
beforeAll(async () => {
  nats = outer.use(await startNats());
});
afterAll(() => outer.disposeAsync());

let stack: AsyncDisposableStack;
let gateway: TestGateway;
/** The pushes that reached the service, and how it answers them: at once, unless a test says otherwise. */
let asked: string[];
let handle: BusHandler;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  asked = [];
  handle = async () => ({ body: '{}' });
  stack.use(
    await openServices(nats.url, {
      [subjects.suppliersPush]: (request) => {
        asked.push(request.requestId);
        return handle(request);
      },
    }),
  );
  gateway = await open({ patienceMs: longMs }, longMs);
});
afterEach(() => stack.disposeAsync());

/** Until a test has looked, bodies wait this long, and the gateway cuts off no slow one. */
const longMs = 20_000;

const open = async (sizes: GatewayDeps['bodyBudgets'] = {}, lookEveryMs?: number): Promise<TestGateway> =>
  stack.use(
    await openReadyGateway(
      nats.url,
      {},
      {
        bodyBudgets: { memoryBytesMax, roadBytesMax, ...sizes },
        ...(lookEveryMs === undefined ? {} : { lookEveryMs }),
      },
    ),
  );

const push = (
  integration: string,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream,
  requestId = 'any',
): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: {
      ...bearer({ integration_id: integration }),
      'content-type': 'application/json',
      'x-request-id': requestId,
    },
    body,
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  });

const large = new Uint8Array(mebibyte).fill(32);

/** Opens a push, and sends a part of its body. */
async function begin(integration: string, more: string, sent = ''): Promise<RawConnection> {
  const connection = stack.use(await openRaw(gateway.port));
  const authorization = `Bearer ${token({ integration_id: integration })}`;
  connection.send(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n${more}\r\n${sent}`,
  );
  return connection;
}

const beginMany = (count: number, integration = 'attacker'): Promise<RawConnection[]> =>
  Promise.all(
    Array.from({ length: count }, () =>
      begin(integration, `content-length: ${mebibyte}\r\n`, ' '.repeat(mebibyte - 1_000)),
    ),
  );

/** The gauges at one moment. */
async function readGauges() {
  const text = await (await fetch(gateway.metricsUrl)).text();
  const gauge = (name: string): number => Number(new RegExp(`^${name}\\{.*\\} (.*)$`, 'm').exec(text)?.[1]);
  return {
    memory: gauge('gateway_body_bytes'),
    road: gauge('gateway_road_bytes'),
    waiting: gauge('gateway_bodies_waiting'),
  };
}
const untilEmpty = () => eventually(readGauges, ({ memory, road, waiting }) => memory + road + waiting === 0);

describe('unfinished bodies', () => {
  it('of one integration use at most two thirds of the memory; its other bodies wait', async () => {
    const connections = await beginMany(12);
    expect(await eventually(readGauges, ({ waiting }) => waiting === 8)).toMatchObject({
      memory: 4 * mebibyte,
    });
    const statuses: number[] = [];
    for (const body of [large, ...Array.from({ length: 30 }, () => '{}'), streamOf(900_000)]) {
      statuses.push((await push('bystander', body)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    for (const { socket } of connections) socket.destroy();
    await untilEmpty();
  });

  it('are answered 503 after a wait of 2 s for memory', async () => {
    gateway = await open();
    const startedAt = Date.now();
    const connections = await beginMany(12);
    const refused: RawAnswer[] = [];
    for (const connection of connections) {
      connection.answer(longMs).then(
        (answer) => refused.push(answer),
        () => undefined,
      );
    }
    await eventually(
      () => refused.length,
      (count) => count >= 8,
      longMs,
    );
    expect(Date.now() - startedAt).toBeGreaterThan(1_900);
    // The bodies of the bystander find memory and do not wait.
    expect(await readGauges()).toMatchObject({ memory: 4 * mebibyte, waiting: 0 });
    expect(refused).toHaveLength(8);
    for (const { status, headers, body } of refused) {
      expect({ status, after: headers['retry-after'], code: JSON.parse(body).code }).toEqual({
        status: 503,
        after: '2',
        code: 'unavailable',
      });
    }
    for (const { socket } of connections) socket.destroy();
    await untilEmpty();
  });

  it('that wait are read completely when memory is free again', async () => {
    const held = await beginMany(4);
    await eventually(readGauges, ({ memory }) => memory === 4 * mebibyte);
    const waiting = push('attacker', large);
    const waitingChunks = push('attacker', streamOf(900_000));
    await eventually(readGauges, (seen) => seen.waiting === 2);
    for (const { socket } of held) socket.destroy();
    expect([(await waiting).status, (await waitingChunks).status]).toEqual([200, 200]);
    await untilEmpty();
  });

  it('get 100 Continue only when memory is free for them', async () => {
    const held = await beginMany(4);
    await eventually(readGauges, ({ memory }) => memory === 4 * mebibyte);
    const asking = await begin('attacker', `content-length: ${mebibyte}\r\nexpect: 100-continue\r\n`);
    await eventually(readGauges, ({ waiting }) => waiting === 1);
    await expect(asking.answer(100)).rejects.toThrow('no answer');
    held[0]?.socket.destroy();
    expect((await asking.answer()).status).toBe(100);
    asking.send(Buffer.from(large));
    expect((await asking.answer()).status).toBe(200);
  });

  it('that come too slowly are answered 408 while other bodies wait for memory, and are read while no body waits', async () => {
    const lookEveryMs = 40;
    gateway = await open({ patienceMs: longMs }, lookEveryMs);
    const slow = await beginMany(4);
    const bystander = await begin('bystander', `content-length: ${mebibyte}\r\n`, ' '.repeat(300_000));
    // This is longer than a connection may be slow while other bodies wait.
    await new Promise((resolve) => setTimeout(resolve, 12 * lookEveryMs));
    expect([...slow, bystander].map(({ socket }) => socket.destroyed)).toEqual(Array(5).fill(false));
    await expect(slow[0]?.answer(50)).rejects.toThrow('no answer');
    expect((await push('attacker', large)).status).toBe(200);
    for (const connection of slow) {
      const answer = await connection.answer();
      expect({ status: answer.status, ...JSON.parse(answer.body) }).toMatchObject({
        status: 408,
        code: 'invalid_request',
        detail: 'The body came too slowly while other uploads waited: less than 80 KiB in 5 s.',
      });
    }
    // It holds less than the integrations that waited.
    bystander.send(' '.repeat(mebibyte - 300_000));
    expect((await bystander.answer()).status).toBe(200);
  });

  it('of unknown length do not block each other', async () => {
    const bytes = 900_000;
    const sooner = ' '.repeat(400_000);
    const chunk = `${bytes.toString(16)}\r\n${sooner}`;
    const connections = await Promise.all(
      Array.from({ length: 12 }, () => begin('attacker', 'transfer-encoding: chunked\r\n', chunk)),
    );
    await eventually(readGauges, ({ waiting }) => waiting >= 2);
    for (const connection of connections) {
      connection.send(`${' '.repeat(bytes - sooner.length)}\r\n0\r\n\r\n`);
    }
    const answers = await Promise.all(connections.map((connection) => connection.answer()));
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
    await untilEmpty();
  });
});

describe('bodies on their way to a service', () => {
  it('count towards a limit of their integration until the service has answered, so that a burst of bodies waits', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    handle = async ({ integration }) => {
      if (integration === 'attacker') await released;
      return { body: '{}' };
    };
    const pushes = Array.from({ length: 4 }, () => push('attacker', large, 'large'));
    expect(await eventually(readGauges, ({ waiting }) => waiting === 2)).toEqual({
      memory: 4 * mebibyte,
      road: 2 * mebibyte,
      waiting: 2,
    });
    const bystander = [
      await push('bystander', '{}'),
      await push('bystander', large),
      await push('bystander', '{}'),
    ];
    expect(bystander.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(asked.filter((id) => id === 'large')).toHaveLength(2);
    release();
    for (const answer of await Promise.all(pushes)) expect(answer.status).toBe(200);
    await untilEmpty();
  });

  it('are answered 503 after a wait of 2 s, and are never sent', async () => {
    gateway = await open();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    handle = () => released.then(() => ({ body: '{}' }));
    const first = [push('attacker', large), push('attacker', large)];
    await eventually(readGauges, ({ road }) => road === 2 * mebibyte);
    await expectProblem(await push('attacker', large, 'late'), {
      status: 503,
      code: 'unavailable',
      headers: { 'retry-after': '2' },
    });
    release();
    for (const answer of await Promise.all(first)) expect(answer.status).toBe(200);
    await untilEmpty();
    expect(asked).not.toContain('late');
  });

  it('are never sent when their caller disconnected while they waited', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    handle = () => released.then(() => ({ body: '{}' }));
    const first = [push('attacker', large), push('attacker', large)];
    await eventually(readGauges, ({ road }) => road === 2 * mebibyte);
    const caller = await begin(
      'attacker',
      `x-request-id: hung-up\r\ncontent-length: ${mebibyte}\r\n`,
      ' '.repeat(mebibyte),
    );
    await eventually(readGauges, ({ waiting }) => waiting === 1);
    caller.socket.destroy();
    await eventually(
      () => gateway.lines,
      (lines) => lines.some(({ requestId, aborted }) => requestId === 'hung-up' && aborted === true),
    );
    release();
    for (const answer of await Promise.all(first)) expect(answer.status).toBe(200);
    await untilEmpty();
    expect(asked).not.toContain('hung-up');
  });

  it('count towards a limit of their integration for 2 s after a time-out, as the service may still have to read them', async () => {
    handle = () => {
      throw new Failure('timeout', 'Too late.');
    };
    expect((await push('attacker', large)).status).toBe(504);
    expect(await readGauges()).toMatchObject({ road: mebibyte });
    await untilEmpty();
    handle = () => {
      throw new Failure('unavailable', 'Away.');
    };
    expect((await push('attacker', large)).status).toBe(503);
    expect(await readGauges()).toEqual({ memory: 0, road: 0, waiting: 0 });
  });
});

function streamOf(bytes: number): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (let sent = 0; sent < bytes; sent += 65_536) {
        controller.enqueue(new Uint8Array(Math.min(65_536, bytes - sent)).fill(32));
      }
      controller.close();
    },
  });
}
