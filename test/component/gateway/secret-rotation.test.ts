import { issueAccessToken } from '@integration-sync/dev/access-token';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';
import { unlessBusy } from '../../support/unless-busy.ts';

// A new AUTH_JWT_SECRET takes the place of the old one over three gateways, which are restarted one after the other.

const stack = new AsyncDisposableStack();
let natsUrl: string;
beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  natsUrl = nats.url;
});
afterAll(() => stack.disposeAsync());

const [older, newer] = [
  'the-older-secret-of-32-bytes-or-more',
  'the-newer-secret-of-32-bytes-or-more',
] as const;
const open = (secret: string): Promise<TestGateway> => openGateway(natsUrl, { AUTH_JWT_SECRET: secret });
const issue = (secret: string): string => issueAccessToken({ secret, integration: 'acme' });

const statusOf = async ({ url }: TestGateway, token: string): Promise<number> => {
  const headers = { authorization: `Bearer ${token}` };
  const { status } = await unlessBusy(() => fetch(`${url}/api/v1/integration/suppliers`, { headers }));
  return status;
};

// Timeline: each rollout restarts the gateways one by one. Callers hold a token of before the rollout and fetch one from
// whoever has been restarted. Before the last rollout the tokens of the older secret have expired.
it('a rotation of AUTH_JWT_SECRET in three rollouts refuses no token', async () => {
  const gateways = await Promise.all([older, older, older].map(open));
  await using closing = new AsyncDisposableStack();
  closing.defer(async () => {
    for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
  });
  let tokens = [issue(older)];
  const statuses: number[] = [];
  const askAll = async (): Promise<void> => {
    for (const token of tokens) {
      statuses.push(...(await Promise.all(gateways.map((gateway) => statusOf(gateway, token)))));
    }
  };
  await askAll();
  for (const secret of [`${older},${newer}`, `${newer},${older}`, newer]) {
    if (secret === newer) tokens = [issue(`${newer},${older}`)];
    for (const at of gateways.keys()) {
      await gateways[at]?.[Symbol.asyncDispose]();
      gateways[at] = await open(secret);
      tokens.push(issue(secret));
      await askAll();
    }
  }
  expect(new Set(statuses)).toEqual(new Set([200]));

  const refused = await Promise.all(gateways.map((gateway) => statusOf(gateway, issue(older))));
  expect(refused).toEqual([401, 401, 401]);
});

it('the first of two secrets signs tokens, tokens of both are accepted, and tokens of a third are refused', async () => {
  await using gateway = await open(`${newer},${older}`);
  await using single = await open(newer);
  const token = issue(`${newer},${older}`);
  expect(await statusOf(single, token)).toBe(200);
  expect(await statusOf(gateway, token)).toBe(200);
  expect(await statusOf(gateway, issue(older))).toBe(200);
  expect(await statusOf(gateway, issue('another-secret-of-32-bytes-or-more'))).toBe(401);
  expect(await statusOf(gateway, issue(`${newer}${older}`))).toBe(401);
});
