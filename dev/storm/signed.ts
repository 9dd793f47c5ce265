// Whether a delivery is signed as it should be, both ways: by the official library, and by the plain signature over the body.
import { createHmac, hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';

export function isSignedWell(headers: IncomingHttpHeaders, body: string, secret: string): boolean {
  const header = (name: string): string => String(headers[name] ?? '');
  try {
    new Webhook(secret).verify(body, {
      'webhook-id': header('webhook-id'),
      'webhook-timestamp': header('webhook-timestamp'),
      'webhook-signature': header('webhook-signature'),
    });
  } catch {
    return false;
  }
  const plain = createHmac('sha256', secret).update(body).digest('hex');
  return header('x-webhook-signature') === plain;
}

/** A short hash of a body, which saves room in the ledger; 64 bits make two equal hashes unlikely. */
export const bodyHashOf = (body: string): string => hash('sha256', body, 'hex').slice(0, 16);
