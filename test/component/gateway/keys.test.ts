import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rm, symlink, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openClients } from '../../../services/gateway/src/clients/clients.ts';
import { signHs256, token } from '../../support/access-tokens.ts';
import { awake } from '../../support/awake.ts';
import {
  clientEntry,
  clientsFile,
  testSecret,
  type TestClientsFile,
  type TestSecret,
} from '../../support/clients.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { openGateway, openReadyGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { openTestLog } from '../../support/log.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';
import { openRaw } from '../../support/raw-http.ts';
import { problemsWith } from '../../support/settings.ts';
import { GatewayConfig } from '@integration-sync/gateway/config';

// Keys of clients against real gateways: what each may do, until when, and what a change of the file does.

const stack = new AsyncDisposableStack();
/** Often enough that no test waits for it. */
const often = { clientsEveryMs: 100, readinessRememberedMs: 0 };
let natsUrl: string;

beforeAll(async () => {
  const nats = stack.use(await startNats());
  natsUrl = nats.url;
  stack.use(await openServices(nats.url));
});
afterAll(() => stack.disposeAsync());

const list = (gateway: TestGateway, key: string, path = 'suppliers'): Promise<Response> =>
  fetch(`${gateway.url}/api/v1/integration/${path}`, { headers: { authorization: `Bearer ${key}` } });

const statusOf = async (gateway: TestGateway, key: string): Promise<number> =>
  (await list(gateway, key)).status;

const invalidToken = {
  status: 401,
  code: 'unauthorized',
  headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
};

async function notesOf(gateway: TestGateway): Promise<string[]> {
  const answer = await fetch(`${gateway.url}/readyz`);
  expect(answer.status).toBe(200);
  const { notes = [] } = (await answer.json()) as { notes?: { pointer: string; detail: string }[] };
  expect(new Set(notes.map(({ pointer }) => pointer))).toEqual(
    new Set(notes.length === 0 ? [] : ['gateway']),
  );
  return notes.map(({ detail }) => detail);
}

const metricsText = async ({ metricsUrl }: TestGateway): Promise<string> => (await fetch(metricsUrl)).text();

async function usesOf(gateway: TestGateway): Promise<string[]> {
  const lines = (await metricsText(gateway)).split('\n');
  return lines
    .filter((line) => line.startsWith('sync_credential_uses_total{'))
    .map((line) => line.replace(',service="gateway"', ''));
}

describe('a key', () => {
  const good = testSecret();
  const narrow = testSecret();
  const ended = testSecret('2026-01-01T00:00:00Z');
  const plain = testSecret();
  const rival = testSecret();
  let file: TestClientsFile;
  let gateway: TestGateway;
  let nowMs: number | undefined;

  beforeAll(async () => {
    file = stack.use(
      await clientsFile([
        clientEntry('erp', [good.entry, ended.entry]),
        clientEntry('reader', [narrow.entry], { scope: 'integration:suppliers:read' }),
        clientEntry('plain', [`sha256:${plain.entry.sha256}`]),
        clientEntry('rival', [rival.entry], { integration: 'rival' }),
      ]),
    );
    const settings = { AUTH_CLIENTS_FILE: file.path };
    gateway = stack.use(
      await openReadyGateway(natsUrl, settings, { ...often, now: () => nowMs ?? Date.now() }),
    );
  });

  it('authenticates its integration, beside tokens of an issuer', async () => {
    expect(await (await list(gateway, good.secret)).json()).toMatchObject({
      headers: { integration: 'acme' },
    });
    expect(await (await list(gateway, rival.secret)).json()).toMatchObject({
      headers: { integration: 'rival' },
    });
    expect(await statusOf(gateway, plain.secret)).toBe(200);
    expect(await statusOf(gateway, token())).toBe(200);
  });

  it('has exactly the scopes of its client', async () => {
    expect(await statusOf(gateway, narrow.secret)).toBe(200);
    await expectProblem(await list(gateway, narrow.secret, 'products'), {
      status: 403,
      code: 'insufficient_scope',
    });
  });

  it('is still valid after 25 hours', async () => {
    nowMs = Date.now() + 25 * 3_600_000;
    try {
      expect(await statusOf(gateway, good.secret)).toBe(200);
    } finally {
      nowMs = undefined;
    }
  });

  const typing = `${good.secret.slice(0, 20)}${good.secret[20] === 'a' ? 'b' : 'a'}${good.secret.slice(21)}`;
  it.each<[string, string, string]>([
    ['with a typing error', typing, 'the key is not of the form isk_…, or its checksum does not match'],
    ['cut short', good.secret.slice(0, -1), 'the key is not of the form isk_…, or its checksum'],
    ['of no client', testSecret().secret, 'no client has the key'],
    ['that has ended', ended.secret, `the key ${ended.name} of the client erp has ended`],
    ['as its name alone', `isk_${good.name}`, 'the key is not of the form'],
    ['as its hash', good.entry.sha256, ''],
  ])('%s: 401 without the reason, which the log has', async (_name, key, words) => {
    const answer = await list(gateway, key);
    const problem = await expectProblem(answer, invalidToken);
    expect(problem['detail']).toBe('The access token is not valid.');
    const id = answer.headers.get('x-request-id');
    const line = gateway.lines.find((one) => one['requestId'] === id);
    expect(line?.['refusal']).toContain(words);
  });

  it('is not taken from a query or from a second header', async () => {
    const url = `${gateway.url}/api/v1/integration/suppliers?access_token=${good.secret}`;
    await expectProblem(await fetch(url), { ...invalidToken, headers: { 'www-authenticate': 'Bearer' } });
  });

  it('is named in the log line of its requests, and counted by client and name', async () => {
    const answer = await list(gateway, good.secret);
    const id = answer.headers.get('x-request-id');
    expect(gateway.lines.find((one) => one['requestId'] === id)).toMatchObject({
      status: 200,
      integration: 'acme',
      client: 'erp',
      key: good.name,
    });
    const before = await usesOf(gateway);
    expect(before).toContainEqual(expect.stringContaining(`client="erp",secret="${ended.name}"} 0`));
    for (const { secret } of [narrow, plain]) await list(gateway, secret);
    const after = await usesOf(gateway);
    const oneMore = (series: string): string => {
      const line = before.find((one) => one.includes(series));
      return `sync_credential_uses_total{${series}} ${Number(line?.split(' ')[1]) + 1}`;
    };
    expect(after.filter((line) => !before.includes(line))).toEqual([
      oneMore(`client="reader",secret="${narrow.name}"`),
      oneMore(`client="plain",secret="${plain.name}"`),
    ]);
  });

  it('and its hash are in no log line, no metric and no page', async () => {
    const pages = ['/readyz', '/openapi.json', '/healthz'].map(async (path) =>
      (await fetch(`${gateway.url}${path}`)).text(),
    );
    const said = [gateway.logText(), await metricsText(gateway), ...(await Promise.all(pages))].join('\n');
    for (const { secret, entry } of [good, narrow, ended, plain, rival]) {
      expect(said).not.toContain(secret.slice(13));
      expect(said).not.toContain(entry.sha256);
    }
    expect(said).not.toContain(typing.slice(13));
  });
});

describe('a gateway with a file of clients alone', () => {
  it('accepts keys, refuses every token, and has no token endpoint', async () => {
    const { secret, entry } = testSecret();
    await using file = await clientsFile([clientEntry('erp', [entry])]);
    const settings = { AUTH_CLIENTS_FILE: file.path, AUTH_JWT_SECRET: '' };
    await using gateway = await openReadyGateway(natsUrl, settings);
    expect(await statusOf(gateway, secret)).toBe(200);
    await expectProblem(await list(gateway, token()), invalidToken);
    await expectProblem(await list(gateway, signHs256({ integration_id: 'acme' }, {}, '')), invalidToken);
    for (const path of ['/oauth/token', '/.well-known/oauth-authorization-server']) {
      const answer = await fetch(gateway.url + path, { method: path === '/oauth/token' ? 'POST' : 'GET' });
      expect(answer.status).toBe(404);
    }
    const description = await (await fetch(`${gateway.url}/openapi.json`)).text();
    expect(description).not.toContain('oauth');
  });
});

it('without a file of clients, the gateway refuses keys, and tokens that name the secret of a client', async () => {
  await using gateway = await openReadyGateway(natsUrl);
  await expectProblem(await list(gateway, testSecret().secret), invalidToken);
  await expectProblem(await list(gateway, token({ secret_id: 'x', client_id: 'erp' })), invalidToken);
  expect(await statusOf(gateway, token({ client_id: 'erp' }))).toBe(200);
});

/** As a process: what it says, and how it ends. */
async function startWith(path: string): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [inject('programs').gateway], {
    env: {
      ...process.env,
      AUTH_CLIENTS_FILE: path,
      GATEWAY_PORT: '0',
      METRICS_PORT: '0',
      NATS_URL: natsUrl,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}

describe('a start with a wrong file of clients', () => {
  const { secret, entry } = testSecret();

  it('ends the process with an error for the operator, without a secret', async () => {
    await using file = await clientsFile([clientEntry('erp', [secret])]);
    const { code, said } = await startWith(file.path);
    expect(code).not.toBe(0);
    expect(said).toContain('AUTH_CLIENTS_FILE');
    expect(said).toContain('client 1 ("erp"), secret 1: expected');
    expect(said).not.toContain(secret.slice(13));
  });

  it.each<[string, (path: string) => Promise<void>, string]>([
    ['that is not there', (path) => rm(path), 'there is no such file'],
    ['of 50 MB', growTo50Megabytes, 'the file has 50000000 bytes, and may have at most 8388608'],
    ['that is a folder', asFolder, 'the file is no regular file'],
  ])('a file %s is refused', async (_name, spoil, words) => {
    await using file = await clientsFile([clientEntry('erp', [entry])]);
    await spoil(file.path);
    await expect(openGateway(natsUrl, { AUTH_CLIENTS_FILE: file.path })).rejects.toThrow(words);
  });
});

it('the error for settings without any way to authenticate names AUTH_CLIENTS_FILE', () => {
  expect(problemsWith(GatewayConfig, {})).toContain('AUTH_CLIENTS_FILE');
});

async function growTo50Megabytes(path: string): Promise<void> {
  await using file = await open(path, 'r+');
  await file.truncate(50_000_000);
}

async function asFolder(path: string): Promise<void> {
  await rm(path);
  await symlink('.', path);
}

describe('a file of clients that becomes wrong', () => {
  const { secret, entry } = testSecret();
  const clients = [clientEntry('erp', [entry])];
  const refusedLine = 'AUTH_CLIENTS_FILE is refused; the gateway keeps the clients of the former content';

  it.each<[string, (file: TestClientsFile) => Promise<void>, string]>([
    ['half a JSON', (file) => file.replace(JSON.stringify(clients).slice(0, -9)), 'the file is not JSON'],
    ['a doubled id', (file) => file.replace([...clients, ...clients]), '"erp" is the id of client 1 already'],
    [
      'a doubled hash',
      (file) => file.replace([...clients, clientEntry('pim', [entry])]),
      'the same as client 1 ("erp"), secret 1',
    ],
    [
      'an unknown scope',
      (file) => file.replace([clientEntry('erp', [entry], { scope: 'all' })]),
      'got "all"',
    ],
    ['an unknown key', (file) => file.replace([{ ...clientEntry('erp', [entry]), role: 'x' }]), 'got "role"'],
    [
      'a secret in it',
      (file) => file.replace([clientEntry('erp', [secret])]),
      '62 characters that are not shown',
    ],
    ['no text', (file) => file.replace(''), 'the file is not JSON'],
    ['50 MB', (file) => growTo50Megabytes(file.path), 'the file has 50000000 bytes'],
    ['gone', (file) => rm(file.path), 'there is no such file'],
    ['a folder', (file) => asFolder(file.path), 'the file is no regular file'],
  ])(
    '%s: one log line, a note without a client, and the content before stays valid until the file is right',
    async (_name, spoil, words) => {
      await using file = await clientsFile(clients);
      await using gateway = await openReadyGateway(natsUrl, { AUTH_CLIENTS_FILE: file.path }, often);
      expect(await notesOf(gateway)).toEqual([]);
      await spoil(file);
      const [note] = await eventually(
        () => notesOf(gateway),
        (notes) => notes.length === 1,
      );
      expect(note).toBe(
        'AUTH_CLIENTS_FILE is refused: the log says why. The gateway keeps the clients of the former content.',
      );
      expect(await statusOf(gateway, secret)).toBe(200);
      const lines = gateway.lines.filter(({ msg }) => msg === refusedLine);
      expect(lines).toEqual([
        expect.objectContaining({ level: 'error', problem: expect.stringContaining(words) }),
      ]);

      const next = testSecret();
      await file.replace([clientEntry('erp', [entry, next.entry])]);
      await eventually(
        () => statusOf(gateway, next.secret),
        (status) => status === 200,
      );
      expect(await notesOf(gateway)).toEqual([]);
      // The gateway has looked several times at the wrong content, and says it once.
      expect(gateway.lines.filter(({ msg }) => msg === refusedLine)).toHaveLength(1);
      const said = gateway.logText();
      for (const hidden of [secret.slice(13), entry.sha256]) expect(said).not.toContain(hidden);
    },
  );

  it('each change to another wrong content writes one log line', async () => {
    await using file = await clientsFile(clients);
    await using gateway = await openReadyGateway(natsUrl, { AUTH_CLIENTS_FILE: file.path }, often);
    for (let wrong = 1; wrong <= 5; wrong += 1) {
      await file.replace(`wrong ${wrong}`);
      await eventually(
        () => gateway.lines.filter(({ msg }) => msg === refusedLine).length,
        (count) => count === wrong,
      );
    }
    expect(await statusOf(gateway, secret)).toBe(200);
  });
});

it('a file that is swapped by symlinks, as Kubernetes swaps a Secret, is read again', async () => {
  await using folder = await temporaryFolder();
  const first = testSecret();
  const second = testSecret();
  await using before = await clientsFile([clientEntry('erp', [first.entry])]);
  await using after = await clientsFile([clientEntry('erp', [second.entry])]);
  const link = join(folder.path, 'clients.json');
  await symlink(before.path, link);
  await using gateway = await openReadyGateway(natsUrl, { AUTH_CLIENTS_FILE: link }, often);
  expect([await statusOf(gateway, first.secret), await statusOf(gateway, second.secret)]).toEqual([200, 401]);
  await symlink(after.path, `${link}.next`);
  await rename(`${link}.next`, link);
  await eventually(
    () => statusOf(gateway, second.secret),
    (status) => status === 200,
  );
  expect(await statusOf(gateway, first.secret)).toBe(401);
});

it('a push whose body comes more than a second later is refused if its key was removed meanwhile', async () => {
  const [removed, kept] = [testSecret(), testSecret()];
  const other = clientEntry('kept', [kept.entry]);
  await using file = await clientsFile([clientEntry('removed', [removed.entry]), other]);
  await using gateway = await openReadyGateway(natsUrl, { AUTH_CLIENTS_FILE: file.path }, often);
  using connections = new DisposableStack();
  const pushing = [removed, kept].map(async ({ secret }) => {
    const connection = connections.use(await openRaw(gateway.port));
    connection.send(
      'POST /api/v1/integration/suppliers HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n' +
        `authorization: Bearer ${secret}\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n`,
    );
    // The gateway has checked the key: it asks for the body.
    expect((await connection.answer()).status).toBe(100);
    return connection;
  });
  const both = await Promise.all(pushing);
  await file.replace([other]);
  await eventually(
    () => statusOf(gateway, removed.secret),
    (status) => status === 401,
  );
  await wait(1_000);
  for (const connection of both) connection.send('{}');
  const answers = await Promise.all(both.map((connection) => connection.answer()));
  expect(answers.map(({ status }) => status)).toEqual([401, 200]);
  // A push is one use of its key, also if the key is checked twice.
  expect(await usesOf(gateway)).toContainEqual(
    expect.stringContaining(`client="kept",secret="${kept.name}"} 1`),
  );
});

describe('a secret of a client that ends soon', () => {
  it('is in a note of /readyz for its last 14 days, with its name and without its client', async () => {
    const nowMs = Date.parse('2026-06-01T00:00:00Z');
    const soon = testSecret('2026-06-14T00:00:00Z');
    const later = testSecret('2026-06-15T00:00:01Z');
    const over = testSecret('2026-05-31T00:00:00Z');
    const unnamed = { sha256: testSecret().entry.sha256, expiresAt: '2026-06-14T12:00:00Z' };
    await using file = await clientsFile([
      clientEntry('erp', [soon.entry, later.entry, over.entry, testSecret().entry]),
      clientEntry('pim', [unnamed]),
    ]);
    const settings = { AUTH_CLIENTS_FILE: file.path };
    await using gateway = await openReadyGateway(natsUrl, settings, { now: () => nowMs });
    expect(await notesOf(gateway)).toEqual([
      `The secret ${soon.name} ends at 2026-06-14T00:00:00.000Z.`,
      'A secret ends at 2026-06-14T12:00:00.000Z.',
    ]);
  });

  it('has a note of its own up to the fifth such secret; one more note counts the others', async () => {
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    await using file = await clientsFile([
      clientEntry(
        'erp',
        Array.from({ length: 8 }, () => testSecret(soon).entry),
      ),
    ]);
    await using gateway = await openReadyGateway(natsUrl, { AUTH_CLIENTS_FILE: file.path });
    const notes = await notesOf(gateway);
    expect(notes).toHaveLength(6);
    expect(notes.at(-1)).toBe('3 more secrets end within 14 days.');
  });
});

async function fetchToken(gateway: TestGateway, { secret }: TestSecret): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: 'erp', client_secret: secret };
  const answer = await fetch(`${gateway.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** At 200 requests a second to three gateways. */
const roundMs = 15;

// Setup: three gateways that look at one file as often as they do in production, and a caller that never stops.
// Timeline: a second secret is added, ten wrong files come, the first secret goes, and then the client.
// What this proves: no request of a good key is refused, and every gateway refuses what was removed, each within its next look.
describe('three gateways that share a file of clients', () => {
  it(
    'follow a rotation without a failure, and refuse a removed secret and a removed client',
    { timeout: 180_000 },
    async () => {
      const [first, second, bystander] = [testSecret(), testSecret(), testSecret()];
      const other = clientEntry('bystander', [bystander.entry]);
      await using file = await clientsFile([clientEntry('erp', [first.entry]), other]);
      const gateways: TestGateway[] = [];
      for (let count = 0; count < 3; count += 1) {
        gateways.push(stack.use(await openReadyGateway(natsUrl, { AUTH_CLIENTS_FILE: file.path })));
      }
      const all = (key: string): Promise<number[]> =>
        Promise.all(gateways.map((gateway) => statusOf(gateway, key)));
      const untilAll = (key: string, status: number): Promise<number[]> =>
        // A check comes every 5 s; a busy machine may take longer to begin it.
        eventually(
          () => all(key),
          (statuses) => statuses.every((one) => one === status),
          60_000,
        );

      const refusals: number[] = [];
      const over = new AbortController();
      const load = (async () => {
        while (!over.signal.aborted) {
          const [statuses] = await Promise.all([all(bystander.secret), wait(roundMs)]);
          refusals.push(...statuses.filter((status) => status === 401 || status === 403));
        }
      })();

      try {
        const ofFirst = await fetchToken(gateways[0] as TestGateway, first);
        expect(await all(ofFirst)).toEqual([200, 200, 200]);
        await file.replace([clientEntry('erp', [first.entry, second.entry]), other]);
        await untilAll(second.secret, 200);
        expect(await all(first.secret)).toEqual([200, 200, 200]);
        const ofSecond = await fetchToken(gateways[1] as TestGateway, second);
        for (let wrong = 0; wrong < 10; wrong += 1) await file.replace(`wrong ${wrong}`);
        await file.replace([clientEntry('erp', [second.entry]), other]);
        await untilAll(first.secret, 401);
        expect(await all(ofFirst)).toEqual([401, 401, 401]);
        expect(await all(second.secret)).toEqual([200, 200, 200]);
        expect(await all(ofSecond)).toEqual([200, 200, 200]);
        await file.replace([other]);
        await untilAll(second.secret, 401);
        expect(await all(ofSecond)).toEqual([401, 401, 401]);
      } finally {
        over.abort();
        await load;
      }
      expect(refusals).toEqual([]);
    },
  );
});

it('a stopping gateway does not wait for a missing file of clients, and does not log that the file is missing', async () => {
  await using file = await clientsFile([clientEntry('erp', [testSecret().entry])]);
  const { log, text } = openTestLog();
  const clients = await openClients({
    path: file.path,
    now: () => Date.now(),
    log,
    registry: new Registry(),
    checkEveryMs: 20,
  });
  await rm(file.path);
  // The check has looked in vain, and looks again half a second later.
  await wait(100);
  const begunAt = awake();
  await clients[Symbol.asyncDispose]();
  expect(awake() - begunAt).toBeLessThan(250);
  expect(text()).not.toContain('AUTH_CLIENTS_FILE is refused');
});
