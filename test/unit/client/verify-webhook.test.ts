import { runInNewContext } from 'node:vm';
import { verifyWebhook } from '@integration-sync/client';
import { Webhook } from 'standardwebhooks';
import { beforeEach, expect, it, vi } from 'vitest';

// Deliveries are signed by the official library, which shares nothing with this one.

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const body = JSON.stringify({
  event: 'supplier.created',
  timestamp: '2026-11-21T18:37:29.542Z',
  integrationId: 'acme',
  data: { externalId: 'Grüße 🌲', internalId: 'sup_1' },
});
const sentAt = new Date('2026-11-21T18:37:30Z');

beforeEach(() => void vi.setSystemTime(sentAt));

const headersOf = (by = secret, at = sentAt, id = 'sync_1-created-0'): Record<string, string> => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
  'webhook-signature': new Webhook(by).sign(id, at, body),
});

it('gives the event, whose data has the type of its kind', async () => {
  const event = await verifyWebhook({ secret, headers: headersOf(), body });
  if (event.event !== 'supplier.created') throw new Error(event.event);
  expect(event.data.internalId).toBe('sup_1');
  const bytes = await verifyWebhook({
    secret,
    headers: new Headers(headersOf()),
    body: new TextEncoder().encode(body),
  });
  expect(bytes).toEqual(event);
});

it('takes the bytes as an ArrayBuffer, of another realm too, and as a view of a part of one', async () => {
  const bytes = new TextEncoder().encode(body);
  const around = new Uint8Array(bytes.length + 16);
  around.set(bytes, 8);
  const foreign: ArrayBuffer = runInNewContext('Uint8Array.from(bytes).buffer', { bytes });
  for (const given of [
    bytes.buffer,
    foreign,
    around.subarray(8, 8 + bytes.length),
    new DataView(around.buffer, 8, bytes.length),
    Buffer.from(body),
  ])
    expect(await verifyWebhook({ secret, headers: headersOf(), body: given })).toEqual(JSON.parse(body));
});

it.each([JSON.parse(body), null, undefined, 7])(
  'says that a body must be the raw text or bytes: %j',
  async (parsed) => {
    await expect(verifyWebhook({ secret, headers: headersOf(), body: parsed })).rejects.toThrow(
      /^body: pass the raw text or bytes as received, before any parser; got (null|a value of type \w+)$/,
    );
  },
);

it('takes either signature while a secret is being rotated', async () => {
  const other = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
  const both = `${headersOf(other)['webhook-signature']} ${headersOf()['webhook-signature']}`;
  const headers = { ...headersOf(), 'webhook-signature': both };
  expect(await verifyWebhook({ secret, headers, body })).toMatchObject({ event: 'supplier.created' });
});

it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
  'refuses a delivery without %s',
  async (name) => {
    const { [name]: _removed, ...headers } = headersOf();
    await expect(verifyWebhook({ secret, headers, body })).rejects.toMatchObject({
      reason: 'missing_header',
    });
  },
);

it('refuses a delivery that is more than five minutes away', async () => {
  const moved = (seconds: number) => headersOf(secret, new Date(sentAt.getTime() + seconds * 1_000));
  const verify = (seconds: number) => verifyWebhook({ secret, headers: moved(seconds), body });
  await expect(verify(-301)).rejects.toMatchObject({ reason: 'too_old' });
  await expect(verify(301)).rejects.toMatchObject({ reason: 'too_new' });
  expect(await verify(-299)).toMatchObject({ integrationId: 'acme' });
  expect(await verify(299)).toMatchObject({ integrationId: 'acme' });
  const headers = { ...headersOf(), 'webhook-timestamp': 'soon' };
  await expect(verifyWebhook({ secret, headers, body })).rejects.toMatchObject({ reason: 'too_old' });
});

it('refuses what another secret has signed, another body, id or time, and a signature of another form', async () => {
  const stranger = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  const signature = headersOf()['webhook-signature'] ?? '';
  const wrong = [
    { headers: headersOf(stranger), body },
    { headers: headersOf(), body: `${body} ` },
    { headers: { ...headersOf(), 'webhook-id': 'sync_1-created-1' }, body },
    { headers: { ...headersOf(), 'webhook-timestamp': String(sentAt.getTime() / 1_000 + 1) }, body },
    { headers: { ...headersOf(), 'webhook-signature': signature.slice(3) }, body },
    { headers: { ...headersOf(), 'webhook-signature': 'v1,' }, body },
    { headers: { ...headersOf(), 'webhook-signature': 'v1,***' }, body },
  ];
  for (const one of wrong) {
    await expect(verifyWebhook({ secret, ...one })).rejects.toMatchObject({ reason: 'no_match' });
  }
});

it.each(['', 'whsec_', 'whsec_dG9vIHNob3J0', 'whsec_***'])(
  'takes no secret that a stranger could guess: %j',
  async (short) => {
    await expect(verifyWebhook({ secret: short, headers: headersOf(), body })).rejects.toThrow('not whsec_');
  },
);
