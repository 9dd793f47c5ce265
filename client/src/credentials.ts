// The header `Authorization`: a given key or token, or a token that is fetched with a client id and secret.
import { RequestFailed } from './errors.ts';
import type { Send } from './call.ts';

export type GivenCredentials = { key: string } | { token: string | (() => string | Promise<string>) };
export type Credentials = GivenCredentials | { clientId: string; clientSecret: string };

export interface Authorization {
  value(): Promise<string>;
  /**
   * Called after the service has refused a key or token with 401: forgets the token, and returns whether a new token may be
   * valid.
   */
  renew(refused: string): boolean;
}

/** How long before a token expires the client fetches a new token. */
const spareMs = 60_000;

export const openAuthorization = (credentials: Credentials, post: Send): Authorization =>
  'clientId' in credentials ? openTokens(credentials, post) : openGiven(credentials);

export function openGiven(credentials: GivenCredentials): Authorization {
  const token = 'key' in credentials ? credentials.key : credentials.token;
  if (typeof token === 'function') return { value: async () => bearer(await token()), renew: () => true };
  // A program in JavaScript may pass a variable of the environment that is not set.
  const value = bearer(token ?? '');
  return { value: async () => value, renew: () => false };
}

/** Refuses a text that is no token by RFC 6750: `fetch` would refuse the text too, with a message that shows it. */
function bearer(token: string): string {
  if (/^[\w~+/.=-]+$/.test(token.trim())) return `Bearer ${token.trim()}`;
  throw new TypeError('no key or token has such characters: was it copied whole?');
}

function openTokens(client: { clientId: string; clientSecret: string }, post: Send): Authorization {
  let current: { value: Promise<string>; until: number } | undefined;
  const basic = btoa(`${encodeForm(client.clientId)}:${encodeForm(client.clientSecret)}`);

  const fetchToken = async (): Promise<string> => {
    const { headers, body } = await post<{ access_token?: unknown; expires_in?: unknown }>({
      method: 'POST',
      path: '/oauth/token',
      headers: {
        authorization: `Basic ${basic}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    });
    if (typeof body.access_token !== 'string')
      throw new RequestFailed('POST /oauth/token', 200, headers, JSON.stringify(body));
    if (current !== undefined)
      current.until = Date.now() + Number(body.expires_in ?? 3_600) * 1_000 - spareMs;
    return `Bearer ${body.access_token}`;
  };

  return {
    value() {
      if (current === undefined || current.until < Date.now()) {
        current = { value: Promise.resolve(''), until: Number.POSITIVE_INFINITY };
        const fetching = fetchToken();
        current.value = fetching;
        // If the fetch of a token fails, the next call fetches a token again.
        fetching.catch(() => (current = undefined));
      }
      return current.value;
    },
    renew(refused) {
      const forget = (value: string): void => {
        if (value === refused) current = undefined;
      };
      // If the fetch of a token fails, the calls that wait for the token fail. The rejection must not end the process.
      current?.value.then(forget, () => undefined);
      return true;
    },
  };
}

/** RFC 6749 §2.3.1: client id and secret are form-encoded before they are joined for Basic authentication. */
const encodeForm = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
