// The two signatures of an attempt, over the bytes that are sent:
//
//   X-Webhook-Signature   hex HMAC-SHA256 of the body, keyed with the secret as text
//   webhook-signature     Standard Webhooks 1.0: base64 HMAC-SHA256 of `id.timestamp.body`, keyed with the bytes
//                         that the secret stands for; during a rotation's grace period by both secrets
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { secretBytes } from './secret.ts';

/** A secret made ready for signing, so that an attempt costs no key set-up. */
export interface SigningKey {
  text: KeyObject;
  bytes: KeyObject;
}

/** The newest one first. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

export const signingKeyOf = (secret: string): SigningKey => ({
  text: createSecretKey(secret, 'utf8'),
  bytes: createSecretKey(secretBytes(secret)),
});

/** X-Webhook-Signature. */
export const signatureOf = ([key]: SigningKeys, body: Uint8Array): string =>
  createHmac('sha256', key.text).update(body).digest('hex');

/** webhook-signature; `prefix` is `id.timestamp.` */
export const standardSignaturesOf = (keys: SigningKeys, prefix: string, body: Uint8Array): string =>
  keys
    .map((key) => `v1,${createHmac('sha256', key.bytes).update(prefix).update(body).digest('base64')}`)
    .join(' ');
