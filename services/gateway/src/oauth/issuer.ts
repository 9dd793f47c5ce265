// Who issues the tokens of the token endpoint, and its metadata by RFC 8414. Where AUTH_ISSUER is an address, it is what callers
// see, as behind a proxy that ends TLS; else the address is the one that the caller asked.
import { allScopes } from '@integration-sync/contracts';
import { isHttpAddress } from '@integration-sync/runtime/config';
import type { FastifyRequest } from 'fastify';
import { invalidRequest } from './refusal.ts';

export const tokenPath = '/oauth/token';
export const metadataPath = '/.well-known/oauth-authorization-server';

export interface IssuerOptions {
  issuer: string | undefined;
  publicBasePath: string;
}

export function addressOf({ raw }: FastifyRequest, { issuer, publicBasePath }: IssuerOptions): string {
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
