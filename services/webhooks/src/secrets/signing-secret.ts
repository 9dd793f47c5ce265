// Makes and reads signing secrets. vault.ts seals them for MongoDB; sending/delivery-headers.ts signs with them.
import { createSecretKey, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const keyBytes = 32;

/** A secret as integrators see it: `whsec_` and the base64 of 32 random bytes. */
export const makeSecret = (): string => prefix + randomBytes(keyBytes).toString('base64');

/** The bytes that Standard Webhooks signs with. */
export const secretBytes = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64');

/** A secret made ready for signing, so that an attempt costs no key set-up. */
export type SigningKey = ReturnType<typeof signingKeyOf>;

export const signingKeyOf = (secret: string) => ({
  text: createSecretKey(secret, 'utf8'),
  bytes: createSecretKey(secretBytes(secret)),
});
