// Signing secrets as integrators see them: `whsec_` and the base64 of 32 random bytes.
import { randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const keyBytes = 32;

export const makeSecret = (): string => prefix + randomBytes(keyBytes).toString('base64');

/** The bytes that Standard Webhooks signs with. */
export const secretBytes = (secret: string): Buffer => Buffer.from(secret.slice(prefix.length), 'base64');
