// The settings of access tokens, and the rules between them. The gateway accepts the tokens of one of three sources:
//
//   AUTH_JWT_SECRET    tokens signed with a shared secret
//   AUTH_JWKS_URL      tokens of the issuer whose keys are at this address
//   neither            tokens of AUTH_ISSUER, whose metadata name the address of its keys
//
// API keys of clients (AUTH_CLIENTS_FILE) can be used with any of these sources, or without a source.
import { isHttpAddress } from '@integration-sync/runtime/config';
import { Type, type Static, type TObject } from 'typebox';
import { isClaimName, parseIntegrations } from './token-claims.ts';
import { isIssuerAddress } from './issuer-discovery.ts';

const secretBytesMin = 32;
/** Whether a shared secret is a PEM key. A public key is refused as the secret: any caller that has the key could sign tokens. */
const isPem = (text: string): boolean => /^\s*-----BEGIN/.test(text);
const isLong = (secret: string): boolean => Buffer.byteLength(secret) >= secretBytesMin;

const claimName = {
  check: isClaimName,
  expected: 'the name of a claim, or a JSON pointer such as /resource_access/sync/roles',
  minLength: 1,
  maxLength: 500,
};

export const authSettings = {
  AUTH_JWT_SECRET: Type.Optional(
    Type.String({
      description:
        'Shared secret of tokens signed with HS256. During a rotation two secrets, separated by a comma: the first signs, ' +
        'both verify. Not together with AUTH_JWKS_URL.',
      check: (text: string) => text.includes(',') || (isLong(text) && !isPem(text)),
      expected: 'at least 32 bytes, and no key in PEM (public keys are taken from AUTH_JWKS_URL)',
      secret: true,
      beside: problemsOfAuth,
    }),
  ),
  AUTH_JWKS_URL: Type.Optional(
    Type.String({
      description:
        'Address of the public keys of tokens signed with RS, PS, ES or EdDSA algorithms. Use https beyond your own network.',
      check: isHttpAddress,
      expected:
        'an address such as https://login.example.com/.well-known/jwks.json, without user and password',
    }),
  ),
  AUTH_ISSUER: Type.Optional(
    Type.String({
      description:
        'The only `iss` that tokens may have; any `iss` unless set. Without AUTH_JWT_SECRET and AUTH_JWKS_URL the ' +
        'gateway finds the keys by this issuer (RFC 8414, OpenID discovery).',
    }),
  ),
  AUTH_AUDIENCE: Type.Optional(
    Type.String({
      description:
        'The audience that `aud` of a token must be or contain; any `aud` unless set; needed where AUTH_ISSUER finds the ' +
        'keys, and with AUTH_INTEGRATIONS.',
    }),
  ),
  AUTH_INTEGRATION_CLAIM: Type.Optional(
    Type.String({
      description:
        'The claim with the integration: its name, or a JSON pointer, which begins with `/`. `integration_id` unless set.',
      ...claimName,
    }),
  ),
  AUTH_SCOPE_CLAIM: Type.String({
    description:
      'The claim with the scopes, as text or as an array: its name, or a JSON pointer, which begins with `/`.',
    default: 'scope',
    ...claimName,
  }),
  AUTH_INTEGRATIONS: Type.Optional(
    Type.String({
      description:
        'Integrations by clients of the issuer, `<client id>=<integration>,…`, in place of AUTH_INTEGRATION_CLAIM. ' +
        'The first of `azp`, `client_id`, `cid`, `appid` and `sub` in a token names the client.',
      check: (text: string) => parseIntegrations(text) !== undefined,
      expected: 'client ids and integrations such as erp-job=acme,shop-job=rival, each client once',
    }),
  ),
};

/** The gateway needs at least one of these settings to start. `problemsOfAuth` checks the rules between the settings. */
export const someAuth = {
  anyOf: ['AUTH_JWT_SECRET', 'AUTH_JWKS_URL', 'AUTH_ISSUER', 'AUTH_CLIENTS_FILE'].map((name) => ({
    required: [name],
  })),
  expected: 'one of AUTH_JWT_SECRET, AUTH_JWKS_URL, AUTH_ISSUER and AUTH_CLIENTS_FILE',
};

export type AuthSettings = Static<TObject<typeof authSettings>>;

type AuthValues = Partial<Record<Exclude<keyof typeof authSettings, 'AUTH_SCOPE_CLAIM'>, string>>;

/** The address of the issuer's keys, or the issuer; undefined with a shared secret, or without access tokens. */
export function keySourceOf({
  AUTH_JWT_SECRET,
  AUTH_JWKS_URL,
  AUTH_ISSUER,
}: AuthValues): { url: string } | { issuer: string } | undefined {
  if (AUTH_JWT_SECRET !== undefined) return undefined;
  if (AUTH_JWKS_URL !== undefined) return { url: AUTH_JWKS_URL };
  return AUTH_ISSUER === undefined ? undefined : { issuer: AUTH_ISSUER };
}

/** The first secret signs tokens, and all secrets verify tokens. */
export const secretsOf = (text: string): string[] => text.split(',');

export const signingSecretOf = (text: string): string => secretsOf(text)[0] ?? text;

/** White space around the comma between two secrets is refused, because it would become part of a secret. */
const mayStandBesideComma = (secret: string): boolean =>
  isLong(secret) && !isPem(secret) && secret.trim() === secret;

function problemsOfAuth(values: AuthValues): string[] {
  const { AUTH_ISSUER, AUTH_AUDIENCE, AUTH_INTEGRATION_CLAIM, AUTH_INTEGRATIONS } = values;
  const problems = problemsOfSecrets(values);
  const isFound = 'issuer' in (keySourceOf(values) ?? {});
  if (isFound && AUTH_ISSUER !== undefined && !isIssuerAddress(AUTH_ISSUER))
    problems.push(
      'AUTH_ISSUER: expected an address such as https://login.example.com/realms/one, without user, password, query and ' +
        'fragment, as the gateway finds the keys by it where neither AUTH_JWT_SECRET nor AUTH_JWKS_URL is set',
    );
  if (AUTH_AUDIENCE === undefined && (isFound || AUTH_INTEGRATIONS !== undefined))
    problems.push(
      `AUTH_AUDIENCE: needed ${isFound ? 'where AUTH_ISSUER finds the keys' : 'with AUTH_INTEGRATIONS'}: without it, ` +
        'tokens that the issuer makes for other APIs would be good here',
    );
  if (AUTH_INTEGRATIONS !== undefined && AUTH_INTEGRATION_CLAIM !== undefined)
    problems.push('AUTH_INTEGRATIONS, AUTH_INTEGRATION_CLAIM: expected one of them, got both');
  return problems;
}

function problemsOfSecrets({ AUTH_JWT_SECRET: text, AUTH_JWKS_URL }: AuthValues): string[] {
  if (text === undefined) return [];
  // With both settings the gateway might accept a token that a caller signs with a public key as the shared secret.
  if (AUTH_JWKS_URL !== undefined)
    return [
      'expected exactly one of AUTH_JWT_SECRET and AUTH_JWKS_URL, got AUTH_JWT_SECRET and AUTH_JWKS_URL',
    ];
  const secrets = secretsOf(text);
  if (secrets.length === 1 || (secrets.length === 2 && secrets.every(mayStandBesideComma))) return [];
  const lengths = secrets.map((secret) => Buffer.byteLength(secret)).join(' and ');
  return [
    `AUTH_JWT_SECRET: a comma separates two secrets, each of at least ${secretBytesMin} bytes, without white space around ` +
      `them and no key in PEM; got parts of ${lengths} bytes. A secret that holds a comma itself must be replaced.`,
  ];
}
