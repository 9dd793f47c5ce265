import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it, test } from 'vitest';
import { signedHeaders, userAgentOf } from '../../../services/webhooks/src/sending/delivery-headers.ts';
import {
  makeSecret,
  secretBytes,
  signingKeyOf,
} from '../../../services/webhooks/src/secrets/signing-secret.ts';

const delivery = {
  eventId: 'evt-1',
  event: 'supplier.created',
  timestamp: '2026-03-31T09:26:53.589Z',
  body: Buffer.from('{"event":"supplier.created","name":"Åsa"}'),
};

function headersOf(secrets: readonly [string, ...string[]], at = new Date()): Record<string, string> {
  const [first, ...others] = secrets;
  const flat = signedHeaders({
    sending: delivery,
    endpointId: 'wh_1',
    host: 'receiver.example:8443',
    keys: [signingKeyOf(first), ...others.map(signingKeyOf)],
    at,
    userAgent: userAgentOf('Acme'),
  });
  return Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, n) => [flat[2 * n], flat[2 * n + 1]]),
  );
}

describe('a signing secret', () => {
  it('is whsec_ and the base64 of 32 bytes', () => {
    expect(makeSecret()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(secretBytes(makeSecret())).toHaveLength(32);
  });
  it('is random', () => {
    expect(makeSecret()).not.toBe(makeSecret());
  });
});

describe('the signatures of a delivery', () => {
  const secret = makeSecret();

  it('are those of the contract', () => {
    const headers = headersOf([secret], new Date('2026-03-31T09:26:54.999Z'));
    expect(headers).toEqual({
      host: 'receiver.example:8443',
      'content-type': 'application/json',
      'user-agent': 'Acme-Webhook/1.0',
      'x-webhook-event': 'supplier.created',
      'x-webhook-id': 'wh_1',
      'x-webhook-timestamp': '2026-03-31T09:26:53.589Z',
      'x-webhook-signature': createHmac('sha256', secret).update(delivery.body).digest('hex'),
      'webhook-id': 'evt-1',
      'webhook-timestamp': '1774949214',
      'webhook-signature': `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
        .update(`evt-1.1774949214.${delivery.body.toString()}`)
        .digest('base64')}`,
    });
  });

  it('are verified by the official library', () => {
    expect(new Webhook(secret).verify(delivery.body.toString(), headersOf([secret]))).toMatchObject({
      name: 'Åsa',
    });
  });

  it('are refused by the official library for another body or another secret', () => {
    expect(() => new Webhook(secret).verify('{}', headersOf([secret]))).toThrow('No matching signature');
    expect(() => new Webhook(makeSecret()).verify(delivery.body.toString(), headersOf([secret]))).toThrow(
      'No matching signature',
    );
  });

  test('both secrets sign webhook-signature during a rotation, and the new secret alone signs X-Webhook-Signature', () => {
    const previous = makeSecret();
    const headers = headersOf([secret, previous]);
    for (const one of [secret, previous]) {
      expect(() => new Webhook(one).verify(delivery.body.toString(), headers)).not.toThrow();
    }
    expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
    expect(headers['x-webhook-signature']).toBe(
      createHmac('sha256', secret).update(delivery.body).digest('hex'),
    );
  });
});
