// Deliveries through an egress proxy: the proxy gets the checked address, never a name, and sees nothing
// inside a TLS connection. A proxy does not make refused addresses reachable.
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { notesSubject } from '@integration-sync/contracts';
import { findPort } from '@integration-sync/dev/port';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeCertificate, type Certificate } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { freeze } from '../../support/freeze.ts';
import { hostileReason, hostileReceivers, openSocketReceiver } from '../../support/hostile-receivers.ts';
import { answer, breakKept, openReceiver } from '../../support/receiver.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

let house: House;
let certificate: Certificate;
let proxy: Awaited<ReturnType<typeof openProxy>>;
let addresses = ['127.0.0.1'];
beforeAll(async () => {
  house = await openHouse();
  certificate = await makeCertificate('DNS:receiver.test');
  proxy = await openProxy();
  await house.start(
    { ca: certificate.cert, resolve: async () => addresses },
    { WEBHOOK_EGRESS_PROXY: proxy.url },
  );
});
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

/** An address that neither takes nor refuses a connection, as where a machine is gone. */
async function openBlackHole() {
  const stack = new DisposableStack();
  const listening = `require('node:net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, function () {
    console.log(this.address().port);
  })`;
  const child = spawn(process.execPath, ['-e', listening], { stdio: ['ignore', 'pipe', 'inherit'] });
  stack.defer(() => child.kill('SIGKILL'));
  const [port] = await once(child.stdout, 'data');
  stack.use(await freeze([child.pid ?? 0]));
  // As many as the system accepts for a listener that takes none; it drops what comes after them.
  for (let count = 0; count < 8; count += 1) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
    stack.defer(() => socket.destroy());
  }
  return { url: `http://127.0.0.1:${Number(port)}`, [Symbol.dispose]: () => stack.dispose() };
}

async function openProxy() {
  const asked: string[] = [];
  let isAway = false;
  let refusal: number | 'silence' | undefined;
  const server = createServer((_request, response) => void response.writeHead(405).end());
  server.on('connect', (request, socket) => {
    const [host, port] = String(request.url).split(':');
    asked.push(String(request.url));
    if (refusal === 'silence') {
      socket.resume().on('end', () => socket.end());
      return;
    }
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal} No\r\n\r\n`);
      return;
    }
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () =>
      upstream.connecting || upstream.bytesRead === 0
        ? socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
        : socket.destroy(),
    );
    socket.on('error', () => upstream.destroy());
  });
  const listen = async (on: number): Promise<void> => {
    server.listen(on, '127.0.0.1');
    await once(server, 'listening');
  };
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  // The proxy keeps this port while it is away.
  const port = await findPort();
  await listen(port);
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    /** What it answers instead of connecting. */
    refuseWith: (status: typeof refusal) => {
      refusal = status;
    },
    connections: () =>
      new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count))),
    async goAway() {
      isAway = true;
      await close();
    },
    async comeBack() {
      await listen(port);
      isAway = false;
    },
    async [Symbol.asyncDispose]() {
      if (!isAway) await close();
    },
  };
}

it.each(['http', 'https'])('by CONNECT, deliveries over %s reach the checked IP address', async (scheme) => {
  await using receiver = await openReceiver(answer(204), scheme === 'https' ? { certificate } : {});
  const client = house.newClient();
  const { id } = await client.register(receiver.url.replace('127.0.0.1', 'receiver.test'));
  await client.announce();
  const [hit] = await receiver.received(1);
  expect(hit?.headers['host']).toBe(`receiver.test:${receiver.port}`);
  expect(proxy.asked).toContain(`127.0.0.1:${receiver.port}`);
  await eventually(
    async () => (await client.ask('deliveries', { id })).body.entities[0]?.outcome,
    (outcome) => outcome === 'succeeded',
  );
});

it('deliveries use a new connection over the proxy where the receiver closed the kept connection', async () => {
  const closed = Promise.withResolvers<void>();
  await using receiver = await openReceiver((_hit, response, { socket }) => {
    socket.once('close', () => closed.resolve());
    response.writeHead(204).end(() => socket.end());
  });
  const client = house.newClient();
  const { id } = await client.register(receiver.url.replace('127.0.0.1', 'receiver.test'));
  for (const hits of [1, 2]) {
    expect((await client.ask('test', { id })).body).toMatchObject({ delivered: true, error: null });
    await closed.promise;
    expect(receiver.hits).toHaveLength(hits);
  }
});

it('deliveries fail where the receiver closes a kept connection after the request', async () => {
  await using receiver = await openReceiver(breakKept('closes', 0));
  const client = house.newClient();
  const { id } = await client.register(receiver.url.replace('127.0.0.1', 'receiver.test'));
  expect((await client.ask('test', { id })).body).toMatchObject({ delivered: true });
  expect((await client.ask('test', { id })).body).toMatchObject({
    delivered: false,
    error: expect.stringContaining('closed before'),
  });
  expect(receiver.hits).toHaveLength(2);
});

it.each(
  ['http', 'https'].flatMap((scheme) =>
    Object.entries(hostileReceivers).map(([kind, onRequest]) => ({ scheme, kind, onRequest })),
  ),
)(
  'deliveries over the proxy fail with a reason where the receiver sends $kind without end, over $scheme',
  { timeout: 30_000 },
  async ({ scheme, kind, onRequest }) => {
    await using receiver = await openSocketReceiver(onRequest, scheme === 'https' ? certificate : undefined);
    const client = house.newClient();
    const { id } = await client.register(receiver.url.replace('127.0.0.1', 'receiver.test'));
    expect((await client.ask('test', { id })).body).toMatchObject({
      delivered: false,
      error: hostileReason(kind),
    });
  },
);

it('deliveries try the next address of a name where the proxy cannot connect to the first', async () => {
  await using receiver = await openReceiver();
  const client = house.newClient();
  addresses = ['127.0.0.2', '127.0.0.1'];
  try {
    const { id } = await client.register(receiver.url.replace('127.0.0.1', 'two.test'));
    expect((await client.ask('test', { id })).body).toMatchObject({ delivered: true, error: null });
  } finally {
    addresses = ['127.0.0.1'];
  }
  expect(proxy.asked.slice(-2)).toEqual([`127.0.0.2:${receiver.port}`, `127.0.0.1:${receiver.port}`]);
});

it('deliveries to a refused address send the proxy no request', async () => {
  await using receiver = await openReceiver();
  const client = house.newClient();
  const { id } = await client.register(receiver.url.replace('127.0.0.1', `${randomUUID()}.test`));
  const before = proxy.asked.length;
  addresses = ['10.0.0.1'];
  try {
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await client.ask('test', { id })).body).toMatchObject({
      delivered: false,
      error: expect.stringContaining('refused'),
    });
  } finally {
    addresses = ['127.0.0.1'];
  }
  expect(proxy.asked).toHaveLength(before);
});

it('deliveries count as failures of the receiver where the proxy cannot connect to the receiver', async () => {
  await using receiver = await openReceiver();
  const client = house.newClient();
  const { id } = await client.register(receiver.url.replace('127.0.0.1', 'receiver.test'));
  proxy.refuseWith(502);
  try {
    expect((await client.ask('test', { id })).body).toMatchObject({
      delivered: false,
      responseStatus: null,
      error: 'no connection (the egress proxy answered 502)',
    });
  } finally {
    proxy.refuseWith(undefined);
  }
});

it('deliveries keep no connection to a proxy that never answers', { timeout: 40_000 }, async () => {
  await using receiver = await openReceiver();
  const client = house.newClient();
  const { id } = await client.register(receiver.url.replace('127.0.0.1', 'receiver.test'));
  proxy.refuseWith('silence');
  try {
    const before = await proxy.connections();
    expect((await client.ask('test', { id })).body.error).toContain('timeout');
    await eventually(
      () => proxy.connections(),
      (count) => count <= before,
      5_000,
    );
  } finally {
    proxy.refuseWith(undefined);
  }
});

it('deliveries do not count as failures of the receiver where the machine of the proxy is unavailable', async () => {
  using blackHole = await openBlackHole();
  await using other = await openHouse();
  await other.start({ resolve: async () => ['127.0.0.1'] }, { WEBHOOK_EGRESS_PROXY: blackHole.url });
  const client = other.newClient();
  const { id } = await client.register('http://receiver.test:9/');
  await expect(client.ask('test', { id })).rejects.toMatchObject({
    code: 'unavailable',
    detail: expect.stringContaining('the egress proxy'),
  });
});

it.each([
  ['is away', { start: () => proxy.goAway(), end: () => proxy.comeBack() }],
  [
    'wants credentials',
    { start: async () => proxy.refuseWith(407), end: async () => proxy.refuseWith(undefined) },
  ],
])(
  'deliveries do not count as failures of the receiver while the proxy %s, and succeed afterwards',
  async (_what, { start, end }) => {
    await using receiver = await openReceiver(answer(204));
    const client = house.newClient();
    const { id } = await client.register(receiver.url.replace('127.0.0.1', 'receiver.test'));
    const notes = async (): Promise<string> =>
      Buffer.concat(await house.bus.askAll(notesSubject('webhooks'), 1_000)).toString();
    await start();
    try {
      await expect(client.ask('test', { id })).rejects.toMatchObject({
        code: 'unavailable',
        detail: expect.stringContaining('the egress proxy'),
      });
      await client.announce(30);
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      expect(await notes()).toContain('Nothing can be delivered at the moment: the egress proxy');
    } finally {
      await end();
    }
    await receiver.received(30);
    expect(await notes()).not.toContain('Nothing can be delivered');
    const { body: webhook } = await client.ask('get', { id });
    expect(webhook).toMatchObject({ active: true, consecutiveFailures: 0 });
    const { body: log } = await client.ask('deliveries', { id, query: 'outcome=failed' });
    expect(log.entities).toEqual([]);
  },
);
