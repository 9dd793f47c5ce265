import { createServer, type ServerResponse } from 'node:http';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { Failure } from '@integration-sync/contracts';
import { openKeySet } from '../../../services/gateway/src/tokens/key-set.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { goodClaims, part, signAsymmetric, signHmac } from '../../support/access-tokens.ts';
import { awake } from '../../support/awake.ts';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { openTestLog } from '../../support/log.ts';
import { startNats } from '../../support/nats.ts';
import { expectProblem } from '../../support/problems.ts';
import { listen } from '../../support/servers.ts';

// Tokens whose issuer publishes its keys at an address that works, changes, fails and hangs.

interface Issuer extends AsyncDisposable {
  url: string;
  keys: unknown[];
  /** How the address behaves. */
  mode: 'serves' | 'fails' | 'hangs' | 'lies' | 'floods';
  fetches: number;
  /** How much it has sent of an answer that never ends. */
  floodedBytes: number;
}

async function openIssuer(): Promise<Issuer> {
  const server = createServer((_request, response) => {
    issuer.fetches += 1;
    if (issuer.mode === 'hangs') return;
    if (issuer.mode === 'floods') flood(response);
    else if (issuer.mode === 'fails') response.writeHead(500).end();
    else if (issuer.mode === 'lies') response.end('<html>');
    else response.end(JSON.stringify({ keys: issuer.keys }));
  });
  const listening = await listen(server);
  const flood = (response: ServerResponse): void => {
    const chunk = Buffer.alloc(64 * 1024, 32);
    const pour = (): void => {
      while (!response.destroyed) {
        issuer.floodedBytes += chunk.length;
        if (!response.write(chunk)) return;
      }
    };
    response.on('drain', pour);
    pour();
  };
  const issuer: Issuer = {
    ...listening,
    url: `${listening.url}/keys`,
    keys: [],
    mode: 'serves',
    fetches: 0,
    floodedBytes: 0,
  };
  return issuer;
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const rotated = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
const jwk = (key: KeyObject, more: Record<string, unknown>): Record<string, unknown> => ({
  ...key.export({ format: 'jwk' }),
  ...more,
});
const rsaKey = jwk(rsa.publicKey, { kid: 'rsa', alg: 'RS256', use: 'sig' });
const rotatedKey = jwk(rotated.publicKey, { kid: 'rotated' });
const ecKey = jwk(ec.publicKey, { kid: 'ec' });

const outer = new AsyncDisposableStack();
let natsUrl: string;
beforeAll(async () => {
  const nats = outer.use(await startNats());
  outer.use(await openServices(nats.url));
  natsUrl = nats.url;
});
afterAll(() => outer.disposeAsync());

let inner: AsyncDisposableStack;
let issuer: Issuer;
let gateway: TestGateway;
beforeEach(async () => {
  inner = new AsyncDisposableStack();
  issuer = inner.use(await openIssuer());
  issuer.keys = [rsaKey, ecKey];
  gateway = inner.use(await openGateway(natsUrl, { AUTH_JWKS_URL: issuer.url }));
});
afterEach(() => inner.disposeAsync());

const list = (token: string): Promise<Response> =>
  fetch(`${gateway.url}/api/v1/integration/suppliers`, { headers: { authorization: `Bearer ${token}` } });
const byRsa = (header: Record<string, unknown> = {}) =>
  signAsymmetric(rsa.privateKey, { alg: 'RS256', kid: 'rsa', ...header }, goodClaims());
const byRotated = () => signAsymmetric(rotated.privateKey, { alg: 'RS256', kid: 'rotated' }, goodClaims());

const minuteMs = 60_000;

/** The key set alone, with a clock that stands still until the test puts it forward. */
async function openClock() {
  // That of the gateway beside it, at its start.
  await expect.poll(() => issuer.fetches).toBe(1);
  issuer.fetches = 0;
  const { log, text: logText } = openTestLog();
  let passedMs = 0;
  const { findKey } = openKeySet({
    url: issuer.url,
    log,
    clock: () => passedMs,
  });
  return {
    pass(ms: number): void {
      passedMs += ms;
    },
    find: (kid: string): Promise<string> =>
      findKey({ alg: 'RS256', kid }).then(
        () => 'found',
        (error: unknown) => (error instanceof Failure ? error.code : 'refused'),
      ),
    logText,
  };
}

describe('with the keys of the issuer the gateway', () => {
  it('accepts tokens that these keys signed, and fetches the keys once', async () => {
    const tokens = [
      byRsa(),
      byRsa({ typ: 'at+jwt' }),
      signAsymmetric(ec.privateKey, { alg: 'ES256', kid: 'ec' }, goodClaims()),
    ];
    const statuses = await Promise.all(
      [...tokens, ...tokens].map((token) => list(token).then(({ status }) => status)),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
    expect(issuer.fetches).toBe(1);
  });

  it.each<[string, () => string]>([
    [
      'another key under a known kid',
      () => signAsymmetric(rotated.privateKey, { alg: 'RS256', kid: 'rsa' }, goodClaims()),
    ],
    ['alg none', () => `${part({ alg: 'none', kid: 'rsa' })}.${part(goodClaims())}.`],
    [
      'HS256 with the public key as its secret',
      () =>
        signHmac(
          'sha256',
          { alg: 'HS256', kid: 'rsa' },
          goodClaims(),
          rsa.publicKey.export({ type: 'spki', format: 'pem' }),
        ),
    ],
    ['HS256 with an empty secret', () => signHmac('sha256', { alg: 'HS256' }, goodClaims(), '')],
    [
      'the key of another algorithm',
      () => signAsymmetric(rsa.privateKey, { alg: 'RS256', kid: 'ec' }, goodClaims()),
    ],
    [
      'a key of its own in its header',
      () => signAsymmetric(rotated.privateKey, { alg: 'RS256', kid: 'rsa', jwk: rotatedKey }, goodClaims()),
    ],
    ['a kid that is no text', () => byRsa({ kid: 7 })],
    ['a kid of no key', () => byRsa({ kid: '../../etc/passwd' })],
    [
      'no exp',
      () => signAsymmetric(rsa.privateKey, { alg: 'RS256', kid: 'rsa' }, goodClaims({ exp: undefined })),
    ],
  ])('refuses %s', async (_name, make) => {
    await expectProblem(await list(make()), { status: 401, code: 'unauthorized' });
    expect((await list(byRsa())).status).toBe(200);
  });

  it.each<[string, unknown]>([
    ['an empty secret', { kty: 'oct', k: '', kid: 'empty' }],
    ['an RSA key of nothing', { kty: 'RSA', n: '', e: '', kid: 'empty', alg: 'RS256' }],
    ['nothing at all', { kid: 'empty' }],
  ])('accepts no token by %s in the key set', async (_name, key) => {
    issuer.keys = [rsaKey, key];
    const header = { alg: 'HS256', kid: 'empty' };
    expect((await list(signHmac('sha256', header, goodClaims(), ''))).status).toBe(401);
    expect(
      (await list(signAsymmetric(rsa.privateKey, { alg: 'RS256', kid: 'empty' }, goodClaims()))).status,
    ).toBe(401);
    expect((await list(byRsa())).status).toBe(200);
  });

  it('refuses an RSA key of fewer than 2,048 bits and logs it, while other keys are used', async () => {
    issuer.keys = [rsaKey, jwk(short.publicKey, { kid: 'short' })];
    const byShort = () => signAsymmetric(short.privateKey, { alg: 'RS256', kid: 'short' }, goodClaims());
    for (let count = 0; count < 2; count += 1) {
      await expectProblem(await list(byShort()), { status: 401, code: 'unauthorized' });
    }
    expect((await list(byRsa())).status).toBe(200);
    const said = gateway.lines.filter(
      ({ msg }) => msg === 'an RSA key of the issuer is too short and is refused',
    );
    expect(said).toMatchObject([{ level: 'warn', kid: 'short', bits: 1024, bitsMin: 2048 }]);
    expect(gateway.lines.filter(({ refusal }) => String(refusal).includes('1024 bits'))).toHaveLength(2);
    expect(issuer.fetches).toBe(1);
  });

  it('never asks the address that a token names', async () => {
    await using other = await openIssuer();
    other.keys = [rotatedKey];
    const forged = signAsymmetric(
      rotated.privateKey,
      { alg: 'RS256', kid: 'rotated', jku: other.url, x5u: other.url },
      goodClaims(),
    );
    expect((await list(forged)).status).toBe(401);
    expect(other.fetches).toBe(0);
  });
});

describe('when keys change, the gateway', () => {
  it('accepts a token of a new key immediately', async () => {
    expect((await list(byRsa())).status).toBe(200);
    issuer.keys = [rotatedKey];
    expect((await list(byRotated())).status).toBe(200);
  });

  it('asks the issuer twice a second at most, however many unknown keys tokens name', async () => {
    expect((await list(byRsa())).status).toBe(200);
    const startedAt = Date.now();
    const unknown = Array.from({ length: 50 }, (_, at) => list(byRsa({ kid: `unknown-${at}` })));
    for (const answer of await Promise.all(unknown)) expect(answer.status).toBe(401);
    const seconds = (Date.now() - startedAt) / 1_000;
    expect(issuer.fetches).toBeLessThanOrEqual(2 + seconds * 2);
  });

  it('refuses tokens of unknown keys for 5 s without a request, once the issuer had none of these keys', async () => {
    const clock = await openClock();
    expect(await clock.find('rsa')).toBe('found');
    clock.pass(1_000);
    expect(await clock.find('unknown')).toBe('refused');
    expect(issuer.fetches).toBe(2);
    issuer.keys = [rsaKey, rotatedKey];
    clock.pass(4_000);
    expect(await clock.find('rotated')).toBe('refused');
    expect(await clock.find('rsa')).toBe('found');
    expect(issuer.fetches).toBe(2);
    clock.pass(1_001);
    expect(await clock.find('rotated')).toBe('found');
    expect(issuer.fetches).toBe(3);
  });
});

/** A gateway that has had no keys, as its issuer behaves so from before its start on. */
async function startWithout(mode: Issuer['mode']): Promise<void> {
  const { keys } = issuer;
  issuer = Object.assign(inner.use(await openIssuer()), { keys, mode });
  gateway = inner.use(await openGateway(natsUrl, { AUTH_JWKS_URL: issuer.url }));
  await expect.poll(() => issuer.fetches).toBe(1);
}

describe('when keys cannot be fetched', () => {
  it.each(['fails', 'lies', 'hangs'] as const)(
    'the gateway answers 503 within 3 s while the issuer %s',
    async (mode) => {
      await startWithout(mode);
      const startedAt = awake();
      const answers = await Promise.all([list(byRsa()), list(byRotated())]);
      expect(awake() - startedAt).toBeLessThan(3_000);
      for (const answer of answers) {
        await expectProblem(answer, { status: 503, code: 'unavailable', headers: { 'retry-after': '5' } });
      }
      issuer.mode = 'serves';
      expect((await list(byRsa())).status).toBe(200);
      expect((await list(byRsa({ kid: 'other' }))).status).toBe(401);
    },
  );

  it('the gateway requests keys twice a second at most', async () => {
    await startWithout('fails');
    const fetchedBefore = issuer.fetches;
    const startedAt = Date.now();
    const statuses = new Set<number>();
    for (let round = 0; round < 4; round += 1) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => list(byRsa())));
      for (const { status } of answers) statuses.add(status);
    }
    const seconds = (Date.now() - startedAt) / 1_000;
    expect([...statuses]).toEqual([503]);
    expect(issuer.fetches - fetchedBefore).toBeLessThanOrEqual(1 + seconds * 2);
  });

  it('keys that were fetched before stay valid', async () => {
    expect((await list(byRsa())).status).toBe(200);
    issuer.mode = 'fails';
    expect((await list(byRsa())).status).toBe(200);
    expect((await list(byRsa({ typ: 'JWT' }))).status).toBe(200);
    // Without the issuer the gateway cannot decide whether this token is good.
    expect((await list(byRotated())).status).toBe(503);
  });

  // Timeline: the gateway fetches the keys at 0; they are old at 5 min, when the issuer is away; the gateway
  // asks again every 5 s at most, and gives them up after 24 h.
  it.each(['fails', 'lies', 'hangs'] as const)(
    'old keys stay valid for a day while the issuer %s',
    async (mode) => {
      const clock = await openClock();
      expect(await clock.find('rsa')).toBe('found');
      issuer.mode = mode;
      clock.pass(5 * minuteMs + 1);
      expect(await clock.find('rsa')).toBe('found');
      expect(clock.logText()).toContain('cannot be fetched');
      expect(await clock.find('rsa')).toBe('found');
      expect(issuer.fetches).toBe(2);
      clock.pass(5_001);
      expect(await clock.find('rsa')).toBe('found');
      expect(issuer.fetches).toBe(3);
      clock.pass(24 * 60 * minuteMs);
      expect(await clock.find('rsa')).toBe('unavailable');
      issuer.mode = 'serves';
      clock.pass(1_000);
      expect(await clock.find('rsa')).toBe('found');
    },
  );

  it('the gateway refreshes old keys, and refuses tokens of a removed key', async () => {
    const clock = await openClock();
    expect(await clock.find('rsa')).toBe('found');
    issuer.keys = [rotatedKey];
    clock.pass(5 * minuteMs + 1);
    expect(await clock.find('rsa')).toBe('refused');
    expect(await clock.find('rotated')).toBe('found');
  });

  it('the gateway reads a bounded part of an endless answer, and keeps its keys', async () => {
    expect((await list(byRsa())).status).toBe(200);
    issuer.mode = 'floods';
    await expectProblem(await list(byRotated()), { status: 503, code: 'unavailable' });
    // The issuer sent more than the bound: the rest stays in buffers of the connection.
    expect(issuer.floodedBytes).toBeLessThan(32 * 1024 * 1024);
    expect((await list(byRsa({ typ: 'JWT' }))).status).toBe(200);
    expect(
      gateway.lines.find(({ msg }) => msg === 'the keys of access tokens cannot be fetched'),
    ).toMatchObject({ err: { message: "the issuer's answer is larger than 1048576 bytes" } });
  });

  it('the log has the reason why keys cannot be fetched', async () => {
    issuer.mode = 'fails';
    expect((await list(byRsa())).status).toBe(503);
    expect(
      gateway.lines.find(({ msg }) => msg === 'the keys of access tokens cannot be fetched'),
    ).toMatchObject({
      level: 'warn',
      err: { message: expect.stringContaining('Expected 200 OK') },
    });
  });

  it('a malformed token is still 401', async () => {
    issuer.mode = 'fails';
    expect((await list('x.y.z')).status).toBe(401);
    expect((await list(`${part({ alg: 'none' })}.${part(goodClaims())}.`)).status).toBe(401);
  });
});
