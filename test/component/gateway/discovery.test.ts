import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { openKeySet } from '../../../services/gateway/src/tokens/key-set.ts';
import { goodClaims } from '../../support/access-tokens.ts';
import { awake } from '../../support/awake.ts';
import { eventually } from '../../support/eventually.ts';
import {
  json,
  oauthPath,
  openForeignIssuer,
  openidPath,
  type ForeignIssuer,
} from '../../support/foreign-issuer.ts';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { openTestLog } from '../../support/log.ts';
import { startNats } from '../../support/nats.ts';

// The gateway knows the name of an issuer and finds the keys by it: what the issuer answers, and what the gateway makes
// of that.

const path = '/realms/one';
const outer = new AsyncDisposableStack();
let natsUrl: string;
beforeAll(async () => {
  const nats = outer.use(await startNats());
  outer.use(await openServices(nats.url));
  natsUrl = nats.url;
});
afterAll(() => outer.disposeAsync());

let inner: AsyncDisposableStack;
let issuer: ForeignIssuer;
beforeEach(async () => {
  inner = new AsyncDisposableStack();
  issuer = inner.use(await openForeignIssuer(path));
});
afterEach(() => inner.disposeAsync());

const start = async (): Promise<TestGateway> =>
  inner.use(
    await openGateway(natsUrl, { AUTH_JWT_SECRET: '', AUTH_ISSUER: issuer.issuer, AUTH_AUDIENCE: 'sync' }),
  );
const statusOf = async ({ url }: TestGateway): Promise<number> => {
  const token = issuer.sign(goodClaims({ iss: issuer.issuer, aud: 'sync' }));
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`${url}/api/v1/integration/suppliers`, { headers })).status;
};
const becomesGood = (gateway: TestGateway): Promise<number> =>
  eventually(
    () => statusOf(gateway),
    (status) => status === 200,
  );
/** What its log says of keys that it could not fetch, the last time. */
const reasonOf = (gateway: TestGateway): Promise<string> =>
  eventually(
    () => {
      const line = gateway.lines.findLast(({ msg }) => msg === 'the keys of access tokens cannot be fetched');
      return line === undefined ? '' : JSON.stringify(line['err']);
    },
    (reason) => reason !== '',
  );
const metadata = (changed: Record<string, unknown> = {}) => ({
  issuer: issuer.issuer,
  jwks_uri: issuer.keysAddress,
  ...changed,
});

const huge = (response: ServerResponse): void => {
  response.end(`{"issuer":"${issuer.issuer}","jwks_uri":"${issuer.keysAddress}"}${' '.repeat(2 ** 21)}`);
};

describe('the gateway finds the keys of its issuer', () => {
  it('by RFC 8414, and sends no further request', async () => {
    issuer.answers.set(oauthPath(path), json(metadata()));
    await becomesGood(await start());
    expect(issuer.asked).toContain(oauthPath(path));
    expect(issuer.asked).toContain('/keys');
    expect(issuer.asked).not.toContain(openidPath(path));
  });

  it('by OpenID discovery, where RFC 8414 metadata are missing', async () => {
    await becomesGood(await start());
    expect(issuer.asked[0]).toBe(oauthPath(path));
    expect(new Set(issuer.asked)).toEqual(new Set([oauthPath(path), openidPath(path), '/keys']));
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['a page for people', (response) => response.end('<html>')],
    ['an array', (response) => response.end('[]')],
    ['a fault', (response) => response.writeHead(500).end('{}')],
    ['metadata without the address of keys', (response) => json({ issuer: issuer.issuer })(response)],
  ])('by OpenID discovery, where the RFC 8414 address answers with %s', async (_name, answer) => {
    issuer.answers.set(oauthPath(path), answer);
    expect(await becomesGood(await start())).toBe(200);
  });

  it('before the first token is presented', async () => {
    await start();
    await expect.poll(() => issuer.asked).toContain('/keys');
  });

  it('once the issuer is available, which may be after the start of the gateway', async () => {
    const found = issuer.answers.get(openidPath(path));
    issuer.answers.delete(openidPath(path));
    const gateway = await start();
    expect(await statusOf(gateway)).toBe(503);
    expect(await reasonOf(gateway)).toContain('the issuer does not say where its keys are');
    if (found !== undefined) issuer.answers.set(openidPath(path), found);
    await becomesGood(gateway);
  });
});

it('while the issuer hangs, the gateway uses old keys after 3 s, and without a wait for the next 5 s', async () => {
  let passedMs = 0;
  const { log } = openTestLog();
  const clock = (): number => passedMs + performance.now();
  const { findKey } = openKeySet({ issuer: issuer.issuer, log, clock });
  const header = { alg: 'RS256', kid: 'one' };
  await findKey(header);
  issuer.answers.set(oauthPath(path), () => undefined);
  passedMs = 6 * 60_000;
  const waits: number[] = [];
  for (const pauseMs of [0, 4_000]) {
    await wait(pauseMs);
    const askedAt = awake();
    await findKey(header);
    waits.push(awake() - askedAt);
  }
  expect(Math.max(...waits)).toBeLessThan(3_000);
  expect(waits.at(-1)).toBeLessThan(1_000);
}, 20_000);

describe('the gateway accepts no keys, and no token', () => {
  it.each<[string, (response: ServerResponse) => void, string]>([
    [
      'of metadata that name another issuer',
      (response) => json(metadata({ issuer: `${issuer.issuer}/` }))(response),
      'names the issuer',
    ],
    [
      'of metadata that name no issuer',
      (response) => json(metadata({ issuer: undefined }))(response),
      'none',
    ],
    [
      'of metadata that name it in an array',
      (response) => json(metadata({ issuer: [issuer.issuer] }))(response),
      'names the issuer',
    ],
    ['of more than a mebibyte', huge, 'larger than 1048576 bytes'],
    ['of half a JSON', (response) => response.end('{"issuer":"'), 'does not say where its keys are'],
    [
      'behind a redirect',
      (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
      'no metadata (302)',
    ],
    [
      'at an address that is a file',
      (response) => json(metadata({ jwks_uri: 'file:///etc/passwd' }))(response),
      'expected an http or https URL',
    ],
    [
      'at an address with a password',
      (response) => json(metadata({ jwks_uri: 'http://a:b@127.0.0.1/keys' }))(response),
      'expected an http or https URL',
    ],
    [
      'at an address that is no text',
      (response) => json(metadata({ jwks_uri: 7 }))(response),
      'expected an http or https URL',
    ],
  ])('by an answer of the issuer %s', async (_name, answer, reason) => {
    issuer.answers.set('/elsewhere', json(metadata()));
    issuer.answers.set(openidPath(path), answer);
    const gateway = await start();
    expect(await statusOf(gateway)).toBe(503);
    expect(await reasonOf(gateway)).toContain(reason);
    expect(issuer.asked).not.toContain('/keys');
    expect(issuer.asked).not.toContain('/elsewhere');
  });

  it('of RFC 8414 metadata that name another issuer, even where OpenID metadata name the right issuer', async () => {
    issuer.answers.set(oauthPath(path), json(metadata({ issuer: 'https://rival.example.com' })));
    const gateway = await start();
    expect(await statusOf(gateway)).toBe(503);
    expect(await reasonOf(gateway)).toContain('https://rival.example.com');
    expect(issuer.asked).not.toContain(openidPath(path));
  });
});
