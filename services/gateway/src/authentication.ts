// The ways to authenticate: access tokens of an issuer, API keys of clients, and tokens that clients fetch with their keys.
// The settings decide which ways a gateway has. Whether a caller may use a route (401, 403): tokens/authorization.ts.
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import type { FastifyInstance } from 'fastify';
import { openClients, type ClientsOptions } from './clients/clients.ts';
import { secretPrefix } from './clients/secret.ts';
import type { GatewayConfig } from './config.ts';
import { addTokenEndpoint } from './oauth/token-endpoint.ts';
import { keySourceOf, signingSecretOf } from './tokens/auth-settings.ts';
import { TokenRefused } from './tokens/token-claims.ts';
import { openKeySet } from './tokens/key-set.ts';
import { openTokens, type VerifyToken } from './tokens/tokens.ts';

export async function openAuthentication(
  app: FastifyInstance,
  config: GatewayConfig,
  options: Omit<ClientsOptions, 'path'>,
) {
  const { now, log } = options;
  const { AUTH_CLIENTS_FILE: path, AUTH_JWT_SECRET: secrets } = config;
  const clients = path === undefined ? undefined : await openClients({ ...options, path });
  const keySource = keySourceOf(config);
  const keySet = keySource && openKeySet({ ...keySource, log });
  const looks =
    keySet &&
    openPeriodicCheck(keySet.look, { what: 'the keys of access tokens', everyMs: lookEveryMs, log });
  looks?.now();
  // A gateway with clients reads the tokens that it issued; a gateway without clients refuses issued tokens.
  const readIssued = secrets === undefined ? () => undefined : (clients?.readIssued ?? refuseIssued);
  const verifyToken = await openTokens(app, config, { now, findKey: keySet?.findKey, readIssued });
  const hasTokenEndpoint = clients !== undefined && secrets !== undefined;
  if (hasTokenEndpoint) addTokenEndpoint(app, clients, signingSecretOf(secrets), config, now);

  /** Verifies an access token or an API key: the file of clients decides about a key, and any other text is a token. */
  const verify: VerifyToken = (text, again) => {
    if (!text.startsWith(secretPrefix)) return verifyToken(text);
    if (clients === undefined) throw new TokenRefused('this gateway has no AUTH_CLIENTS_FILE');
    return clients.verifyKey(text, again);
  };
  return {
    verify,
    notes: (): readonly string[] => [
      ...(keySet?.isUp() === false ? [issuerAway] : []),
      ...(clients?.notes() ?? []),
    ],
    /** Whether the issuer of tokens serves its keys; undefined without an issuer, or before the first fetch has ended. */
    issuerIsUp: (): boolean | undefined => keySet?.isUp(),
    hasKeys: (): boolean => keySet === undefined || keySet.isUp() === true,
    hasTokenEndpoint,
    async [Symbol.asyncDispose]() {
      // The stop does not wait for a running fetch of the issuer's keys.
      void looks?.[Symbol.asyncDispose]();
      await clients?.[Symbol.asyncDispose]();
    },
  };
}

const lookEveryMs = 5_000;

const issuerAway =
  'The issuer does not give the keys of access tokens (AUTH_ISSUER or AUTH_JWKS_URL): the gateway’s log says why. ' +
  'A gateway without earlier keys refuses each token with 503.';

function refuseIssued({ secret_id: secretId }: Readonly<Record<string, unknown>>): undefined {
  if (secretId !== undefined) throw new TokenRefused('this gateway has no AUTH_CLIENTS_FILE');
}
