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

it('verifyWebhook returns the event with the type of its kind', async () => {
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

it('verifyWebhook accepts an ArrayBuffer, also of another realm, and a view of a part of an ArrayBuffer', async () => {
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
  'verifyWebhook refuses a body that is not raw text or bytes: %j',
  async (parsed) => {
    await expect(verifyWebhook({ secret, headers: headersOf(), body: parsed })).rejects.toThrow(
      /^body: pass the raw text or bytes as received, before any parser; got (null|a value of type \w+)$/,
    );
  },
);
