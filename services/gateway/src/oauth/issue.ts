// Access tokens of the token endpoint: RFC 9068, signed as the gateway verifies them, for an hour at most.
import { createSecretKey, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import type { Credential } from '../clients/credentials.ts';

const lifetimeSeconds = 60 * 60;

export interface IssuedToken {
  token: string;
  expiresInSeconds: number;
}

export interface Grant {
  credential: Credential;
  scope: string;
  issuer: string;
  audience: string;
}

export type IssueToken = (grant: Grant) => Promise<IssuedToken>;

export function openIssuing(secret: string, now: () => number): IssueToken {
  const key = createSecretKey(Buffer.from(secret));

  return async ({ credential, scope, issuer, audience }) => {
    const { client, endsAtMs, id } = credential;
    const nowMs = now();
    const issuedAt = Math.floor(nowMs / 1_000);
    // A token for longer than its secret would promise what it does not hold.
    const expiresAt = Math.min(issuedAt + lifetimeSeconds, Math.floor(endsAtMs / 1_000));
    const claims = {
      client_id: client.id,
      integration_id: client.integration,
      scope,
      secret_id: id,
    };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(client.id)
      .setJti(randomUUID())
      .setIssuedAt(issuedAt)
      .setExpirationTime(expiresAt)
      .sign(key);
    return { token, expiresInSeconds: expiresAt - issuedAt };
  };
}
