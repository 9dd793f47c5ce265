// Where a token says which integration its caller is, and what it may do: in claims whose names are settings, or by the
// client of the issuer that fetched it, where the setting AUTH_INTEGRATIONS lists clients. Pure.
import { integrationPattern } from '@integration-sync/contracts';
import { claimReader, ownOf, type ReadClaim } from './claim-names.ts';
import { TokenRefused, type CallerClaims } from './claims.ts';

/** The claims that may name the client, the first that is there decides: Okta has `cid`, Entra's v1 `appid`. */
const clientClaims = ['azp', 'client_id', 'cid', 'appid', 'sub'] as const;

/** What separates entries elsewhere is a mistake here, and no part of an id. */
const clientId = /^[^\s;]+$/;
const integrationId = new RegExp(integrationPattern);

interface Names {
  AUTH_INTEGRATION_CLAIM?: string;
  AUTH_SCOPE_CLAIM: string;
  AUTH_INTEGRATIONS?: string;
}

export function openCallerClaims(names: Names): CallerClaims {
  const { AUTH_INTEGRATION_CLAIM = 'integration_id', AUTH_SCOPE_CLAIM, AUTH_INTEGRATIONS } = names;
  const integrations = AUTH_INTEGRATIONS === undefined ? undefined : parseIntegrations(AUTH_INTEGRATIONS);
  return {
    integration:
      integrations === undefined ? claimReader(AUTH_INTEGRATION_CLAIM) : integrationReader(integrations),
    scope: claimReader(AUTH_SCOPE_CLAIM),
  };
}

/** Integrations by the ids of clients; undefined where the text is not `<client id>=<integration>,…`. */
export function parseIntegrations(text: string): ReadonlyMap<string, string> | undefined {
  const integrations = new Map<string, string>();
  for (const entry of text.split(',')) {
    const at = entry.lastIndexOf('=');
    const [client, integration] = [entry.slice(0, Math.max(at, 0)).trim(), entry.slice(at + 1).trim()];
    if (!clientId.test(client) || !integrationId.test(integration) || integrations.has(client))
      return undefined;
    integrations.set(client, integration);
  }
  return integrations;
}

function integrationReader(integrations: ReadonlyMap<string, string>): ReadClaim {
  return (claims) => {
    const name = clientClaims.find((claim) => ownOf(claims, claim) !== undefined);
    const client = name === undefined ? undefined : claims[name];
    const integration = typeof client === 'string' ? integrations.get(client) : undefined;
    if (integration !== undefined) return integration;
    const shown = JSON.stringify(client ?? null).slice(0, 100);
    throw new TokenRefused(`AUTH_INTEGRATIONS does not list its client (${name ?? 'no claim'}: ${shown})`);
  };
}
