// Forged and odd tokens, which the gateway must refuse. Each differs from a valid token of the issuer in one thing.
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { nowSeconds, part, signAsymmetric, signHmac } from './access-tokens.ts';

type Claims = Record<string, unknown>;

/** How an issuer makes valid tokens, so that a forgery can change one step. */
export interface Mint {
  /** The claims of a valid token, with changes. */
  claims: (changed?: Claims) => Claims;
  /** Signs claims as the issuer does. */
  sign: (claims: unknown, header?: Claims) => string;
  /** The shared secret, or the public key of the issuer in PEM. */
  hmacSecret: string;
  /** The name of the claim from which the gateway takes the integration. */
  integration: string;
}

export type Forgery = [name: string, make: () => string];

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const publicPem = createPublicKey(pair.privateKey).export({ type: 'spki', format: 'pem' });

export const forgeries = (mint: Mint): Forgery[] => [
  ...forgedSignatures(mint),
  ...forgedParts(mint),
  ...forgedTimes(mint),
  ...forgedHomes(mint),
  ...forgedIntegrations(mint),
  ...otherKinds(mint),
];

function forgedSignatures({ claims, sign, hmacSecret }: Mint): Forgery[] {
  const hmac = (hash: string, header: Claims, secret = hmacSecret): string =>
    signHmac(hash, header, claims(), secret);
  const hs256 = (secret: string, header: Claims = {}): string =>
    hmac('sha256', { alg: 'HS256', typ: 'JWT', ...header }, secret);
  const [, , goodSignature = ''] = sign(claims()).split('.');
  return [
    ['alg none', () => `${part({ alg: 'none' })}.${part(claims())}.`],
    ['alg None', () => `${part({ alg: 'None' })}.${part(claims())}.`],
    ['alg NONE, with a signature', () => `${part({ alg: 'NONE' })}.${part(claims())}.${goodSignature}`],
    ['no alg', () => hmac('sha256', { typ: 'JWT' })],
    ['alg as an array', () => hmac('sha256', { alg: ['HS256'] })],
    ['alg hs256', () => hmac('sha256', { alg: 'hs256' })],
    ['HS512 with the right secret', () => hmac('sha512', { alg: 'HS512' })],
    ['HS384 with the right secret', () => hmac('sha384', { alg: 'HS384' })],
    ['RS256 with another key', () => signAsymmetric(pair.privateKey, { alg: 'RS256' }, claims())],
    [
      'RS256 with the key that its jwk brings',
      () =>
        signAsymmetric(
          pair.privateKey,
          { alg: 'RS256', jwk: pair.publicKey.export({ format: 'jwk' }) },
          claims(),
        ),
    ],
    ['HS256 with another secret', () => hs256('another-secret-of-32-bytes-or-more')],
    ['HS256 with an empty secret', () => hs256('')],
    ['HS256 with a public key as secret', () => hs256(publicPem)],
    ['HS256 with the secret that its kid suggests', () => hs256('', { kid: '/dev/null' })],
    ['HS256 with the key that its jwk brings', () => hs256('mine', { jwk: { kty: 'oct', k: part('mine') } })],
    ['HS256 with a jku of its own', () => hs256('mine', { jku: 'http://127.0.0.1:1/' })],
  ];
}

function forgedParts({ claims, sign, integration }: Mint): Forgery[] {
  const [goodHeader = '', goodBody = '', goodSignature = ''] = sign(claims()).split('.');
  return [
    [
      'another body under a good signature',
      () => `${goodHeader}.${part(claims({ [integration]: 'rival' }))}.${goodSignature}`,
    ],
    ['no signature', () => `${goodHeader}.${goodBody}.`],
    ['two parts', () => `${goodHeader}.${goodBody}`],
    ['four parts', () => `${sign(claims())}.${goodSignature}`],
    ['padding in the signature', () => `${sign(claims())}=`],
    ['a header that must be understood', () => sign(claims(), { crit: ['exp'], exp: 1 })],
    ['a body that is no object', () => sign([claims()])],
    ['a body that is no JSON', () => sign('hello')],
  ];
}

function forgedTimes({ claims, sign }: Mint): Forgery[] {
  const now = nowSeconds();
  return [
    ['no exp', () => sign(claims({ exp: undefined }))],
    ['exp as text', () => sign(claims({ exp: String(now + 3_600) }))],
    ['exp null', () => sign(claims({ exp: null }))],
    ['expired a second ago', () => sign(claims({ exp: nowSeconds() - 1 }))],
    ['living for 25 h', () => sign(claims({ exp: now + 25 * 3_600 }))],
    ['living for 25 h from now, without iat', () => sign(claims({ iat: undefined, exp: now + 25 * 3_600 }))],
    ['living for a year, long since issued', () => sign(claims({ iat: now - 31_000_000, exp: now + 3_600 }))],
    ['iat in the future', () => sign(claims({ iat: nowSeconds() + 120 }))],
    ['iat as text', () => sign(claims({ iat: 'today' }))],
    ['nbf in the future', () => sign(claims({ nbf: nowSeconds() + 120 }))],
    ['nbf as text', () => sign(claims({ nbf: '0' }))],
  ];
}

function forgedHomes({ claims, sign }: Mint): Forgery[] {
  const { iss, aud } = claims();
  return [
    ['another issuer', () => sign(claims({ iss: `${String(iss)}.evil.test` }))],
    ['no issuer', () => sign(claims({ iss: undefined }))],
    ['the issuer in an array', () => sign(claims({ iss: [iss] }))],
    ['another audience', () => sign(claims({ aud: `${String(aud)}-admin` }))],
    ['no audience', () => sign(claims({ aud: undefined }))],
    ['an empty list of audiences', () => sign(claims({ aud: [] }))],
  ];
}

/** Removes every claim that may name the integration. */
const nobody = { azp: undefined, client_id: undefined, cid: undefined, appid: undefined, sub: undefined };

function forgedIntegrations({ claims, sign, integration }: Mint): Forgery[] {
  const as = (value: unknown) => (): string => sign(claims({ [integration]: value }));
  return [
    ['no integration', () => sign(claims({ ...nobody, [integration]: undefined }))],
    ['an empty integration', as('')],
    ['an integration that is a wildcard', as('>')],
    ['an integration with a dot', as('acme.supplier')],
    ['an integration with a line break', as('acme\nx')],
    ['an integration of 65 characters', as('x'.repeat(65))],
    ['an integration that is a number', as(7)],
    ['an integration in an array', as(['acme'])],
  ];
}

function otherKinds({ claims, sign }: Mint): Forgery[] {
  return [
    ['an ID token with a nonce', () => sign(claims({ nonce: 'n' }))],
    ['an ID token with an at_hash', () => sign(claims({ at_hash: 'x' }))],
    ['an ID token by its typ', () => sign(claims({ typ: 'ID' }))],
    ['a refresh token', () => sign(claims({ typ: 'Refresh' }))],
    ['a logout token', () => sign(claims(), { typ: 'logout+jwt' })],
    ['a DPoP proof', () => sign(claims(), { typ: 'dpop+jwt' })],
  ];
}
