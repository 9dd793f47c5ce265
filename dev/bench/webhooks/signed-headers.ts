// The headers of a delivery with both signatures, for the contenders with which the webhooks service is compared.
import { createHmac } from 'node:crypto';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=';
const key = Buffer.from(secret.slice(6), 'base64');

export function signedHeaders(eventId: string, timestamp: string, body: string): Record<string, string> {
  const seconds = Math.floor(Date.now() / 1_000);
  const signed = createHmac('sha256', key).update(`${eventId}.${seconds}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'IntegrationSync-Webhook/1.0',
    'x-webhook-event': 'supplier.created',
    'x-webhook-id': 'wh_bench',
    'x-webhook-timestamp': timestamp,
    'x-webhook-signature': createHmac('sha256', secret).update(body).digest('hex'),
    'webhook-id': eventId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signed}`,
  };
}
