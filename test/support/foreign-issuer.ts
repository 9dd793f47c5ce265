// An issuer of access tokens on this machine, with keys of its own: what it publishes, and how its tokens are signed.
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { signAsymmetric } from './access-tokens.ts';
import { listen } from './servers.ts';

type Answer = (response: ServerResponse) => void;

export interface ForeignIssuer extends AsyncDisposable {
  /** The `iss` of its tokens: its address, with the path given to `openForeignIssuer`. */
  issuer: string;
  keysAddress: string;
  publicPem: string;
  sign: (claims: unknown, header?: Record<string, unknown>) => string;
  /** The answers by path; a request for any other path gets 404. */
  answers: Map<string, Answer>;
  /** The requested paths, in order. */
  asked: string[];
}

export const json =
  (value: unknown): Answer =>
  (response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
  };

/** The paths of the metadata of an issuer whose name ends with this path. */
export const oauthPath = (path: string): string =>
  `/.well-known/oauth-authorization-server${path.replace(/\/$/, '')}`;
export const openidPath = (path: string): string =>
  `${path.replace(/\/$/, '')}/.well-known/openid-configuration`;

/** Starts an issuer that publishes its metadata by OpenID discovery, as the large providers do. */
export async function openForeignIssuer(path: string): Promise<ForeignIssuer> {
  const answers = new Map<string, Answer>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const { url = '' } = request;
    asked.push(url);
    const answer = answers.get(url);
    if (answer === undefined) response.writeHead(404).end('<html>');
    else answer(response);
  });
  const listening = await listen(server);
  const [issuer, keysAddress] = [`${listening.url}${path}`, `${listening.url}/keys`];
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  answers.set('/keys', json({ keys: [{ ...jwkOf(publicKey), kid: 'one', use: 'sig' }] }));
  answers.set(openidPath(path), json({ issuer, jwks_uri: keysAddress }));
  return {
    ...listening,
    issuer,
    keysAddress,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }),
    sign: (claims, header = {}) =>
      signAsymmetric(privateKey, { alg: 'RS256', typ: 'JWT', kid: 'one', ...header }, claims),
    answers,
    asked,
  };
}

const jwkOf = (key: KeyObject): Record<string, unknown> => ({ ...key.export({ format: 'jwk' }) });
