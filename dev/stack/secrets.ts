// The stack's secrets: made once, kept in its folder for this user alone, so that tokens and sealed webhook
// secrets stay good over a restart. The environment takes precedence.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Type } from 'typebox';
import type { Environment } from '../engines/environment.ts';
import { readJsonAs, writeJson } from '../process/files.ts';

export interface Secrets {
  /**
   * The secret that signs tokens; undefined when another issuer signs them, with the keys of AUTH_JWKS_URL or those that
   * AUTH_ISSUER finds.
   */
  authSecret: string | undefined;
  /** The key that seals webhook secrets, in the form of WEBHOOK_SECRET_KEY: `id:base64`. */
  webhookSecretKey: string;
}

export function openSecrets(folder: string, environment: Environment): Secrets {
  const path = join(folder, 'secrets.json');
  const kept = readJsonAs(path, Kept) ?? {
    authSecret: randomBytes(32).toString('base64url'),
    webhookSecretKey: `local:${randomBytes(32).toString('base64')}`,
  };
  writeJson(path, kept, 0o600);
  return {
    authSecret: isOfAnotherIssuer(environment)
      ? undefined
      : environment['AUTH_JWT_SECRET'] || kept.authSecret,
    webhookSecretKey: environment['WEBHOOK_SECRET_KEY'] || kept.webhookSecretKey,
  };
}

/** An empty AUTH_JWT_SECRET means that the stack has no such secret, as for the stack in containers. */
const isOfAnotherIssuer = ({ AUTH_JWKS_URL, AUTH_ISSUER, AUTH_JWT_SECRET }: Environment): boolean =>
  Boolean(AUTH_JWKS_URL) || (Boolean(AUTH_ISSUER) && AUTH_JWT_SECRET === '');

const Kept = Type.Object({ authSecret: Type.String(), webhookSecretKey: Type.String() });
