// The issuer of the token endpoint's tokens, and its metadata (RFC 8414). If AUTH_ISSUER is an address, such as that of
// a proxy that ends TLS, AUTH_ISSUER is the issuer. Otherwise the issuer's address comes from the request's Host
// header.
import { createSecretKey, randomUUID } from 'node:crypto';
import { allScopes } from '@integration-sync/contracts';
import { isHttpAddress } from '@integration-sync/runtime/config';
import type { FastifyRequest } from 'fastify';
import { SignJWT } from 'jose';
import type { Credential } from '../clients/credential-index.ts';
import type { GatewayConfig } from '../config.ts';
import { invalidRequest } from './refusal.ts';

export const tokenPath = '/oauth/token';
export const metadataPath = '/.well-known/oauth-authorization-server';

export function addressOf(
  { raw }: FastifyRequest,
  { AUTH_ISSUER: issuer, PUBLIC_BASE_PATH: publicBasePath }: GatewayConfig,
): string {
  if (issuer !== undefined && isHttpAddress(issuer)) return issuer;
  const { host = '' } = raw.headers;
  const address = `http://${host}`;
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(address))
    throw invalidRequest('The Host header is no address.');
  return address + publicBasePath;
}

export const metadataOf = (issuer: string) => ({
  issuer,
  token_endpoint: issuer.replace(/\/$/, '') + tokenPath,
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  grant_types_supported: ['client_credentials'],
  response_types_supported: [],
  scopes_supported: allScopes,
});

// Access tokens of the token endpoint: RFC 9068, signed with AUTH_JWT_SECRET, valid for an hour at most.

const lifetimeSeconds = 60 * 60;

export function openIssuing(secret: string, now: () => number) {
  const key = createSecretKey(Buffer.from(secret));

  return async ({ client, endsAtMs, id }: Credential, granted: Record<'scope' | 'iss' | 'aud', string>) => {
    const issuedAt = Math.floor(now() / 1_000);
    // A token ends no later than the secret that fetched the token.
    const expiresAt = Math.min(issuedAt + lifetimeSeconds, Math.floor(endsAtMs / 1_000));
    const claims = {
      client_id: client.id,
      integration_id: client.integration,
      ...granted,
      secret_id: id,
      sub: client.id,
      jti: randomUUID(),
      iat: issuedAt,
      exp: expiresAt,
    };
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' }).sign(key);
    return { token, expiresInSeconds: expiresAt - issuedAt };
  };
}
