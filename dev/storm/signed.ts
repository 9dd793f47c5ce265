// Verifies both signatures of a delivery: that of Standard Webhooks by its library, and the plain signature over the body.
import { createHmac, hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';

/** `genuine`: the library accepts the delivery by one of the secrets. `signer`: the index of the plain signature's secret, or -1. */
export function readSignature(headers: IncomingHttpHeaders, body: string, secrets: readonly string[]) {
  const header = (name: string): string => String(headers[name] ?? '');
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
  const signed = Object.fromEntries(names.map((name) => [name, header(name)]));
  const verifies = (secret: string): boolean => {
    try {
      new Webhook(secret).verify(body, signed);
      return true;
    } catch {
      return false;
    }
  };
  const plain = (secret: string): string => createHmac('sha256', secret).update(body).digest('hex');
  const signer = secrets.findLastIndex((secret) => header('x-webhook-signature') === plain(secret));
  return { genuine: secrets.some(verifies), signer };
}

/** A short hash of a body, which saves room in the ledger; 64 bits make two equal hashes unlikely. */
export const bodyHashOf = (body: string): string => hash('sha256', body, 'hex').slice(0, 16);
