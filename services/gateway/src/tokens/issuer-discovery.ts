// Finds the address of an issuer's keys by the name of the issuer: by RFC 8414, or without such metadata by OpenID
// discovery. For https://login.example.com/realms/one the addresses of the metadata are
//
//   https://login.example.com/.well-known/oauth-authorization-server/realms/one
//   https://login.example.com/realms/one/.well-known/openid-configuration
//
// Metadata that names another issuer is refused, and no later address is asked. An answer that is a redirect, or no JSON
// object, is no metadata.
import type { FetchImplementation } from 'jose';
import { isHttpAddress } from '@integration-sync/runtime/config';
import { ownOf } from './token-claims.ts';

/** Whether metadata can be found by the name of the issuer: RFC 8414 §2 allows neither query nor fragment. */
export const isIssuerAddress = (issuer: string): boolean => isHttpAddress(issuer) && !/[?#]/.test(issuer);

export function metadataAddresses(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}

/** Rejects if the issuer's metadata name no address of keys, with the reason for the log. */
export async function findKeysAddress(
  issuer: string,
  fetchAnswer: FetchImplementation,
  options: Parameters<FetchImplementation>[1],
): Promise<string> {
  const misses: string[] = [];
  for (const address of metadataAddresses(issuer)) {
    const response = await fetchAnswer(address, options);
    const metadata = response.status === 200 ? readObject(await response.text()) : undefined;
    const keysAddress = metadata === undefined ? undefined : readKeysAddress(metadata, issuer, address);
    if (keysAddress !== undefined) return keysAddress;
    misses.push(`${address}: ${metadata === undefined ? `no metadata (${response.status})` : 'no jwks_uri'}`);
  }
  throw new Error(`the issuer does not say where its keys are; ${misses.join(', ')}`);
}

/** The address of the keys; undefined if the metadata lack `jwks_uri`, which RFC 8414 does not require. */
function readKeysAddress(metadata: object, issuer: string, address: string): string | undefined {
  const named = ownOf(metadata, 'issuer');
  if (named !== issuer) {
    throw new Error(`${address} names the issuer ${shown(named)}, and AUTH_ISSUER is ${shown(issuer)}`);
  }
  const keysAddress = ownOf(metadata, 'jwks_uri');
  if (keysAddress === undefined) return undefined;
  if (typeof keysAddress !== 'string' || !isHttpAddress(keysAddress)) {
    throw new Error(`${address} has the jwks_uri ${shown(keysAddress)}, expected an http or https URL`);
  }
  if (isEncrypted(issuer) && !isEncrypted(keysAddress)) {
    throw new Error(`${address} has the jwks_uri ${shown(keysAddress)}, expected https as the issuer has`);
  }
  return keysAddress;
}

const isEncrypted = (address: string): boolean => new URL(address).protocol === 'https:';

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'none').slice(0, 200);

function readObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // The answer is no JSON: some servers answer every path with an HTML page.
    return undefined;
  }
}
