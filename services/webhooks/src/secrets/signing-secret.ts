// Makes and reads signing secrets. vault.ts seals them for MongoDB; sending/delivery-headers.ts signs with them.
import { createSecretKey, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const keyBytes = 32;

/** A secret as integrators see it: `whsec_` and the base64 of 32 random bytes. */
export const makeSecret = (): string => prefix + randomBytes(keyBytes).toString('base64');

/** The bytes of a secret, which are the key of a signature by Standard Webhooks. */
export const secretBytes = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64');

/** A secret in the form that signing needs, so that attempts need not set up the key. */
export type SigningKey = ReturnType<typeof signingKeyOf>;

export const signingKeyOf = (secret: string) => ({
  text: createSecretKey(secret, 'utf8'),
  bytes: createSecretKey(secretBytes(secret)),
});
