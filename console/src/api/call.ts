// Sends one request of the console, with the session's token. After a 401 no further request carries this token.
import { noAnswer, noJson, problemOf, type Problem } from './problem.ts';
import type { Request } from './request.ts';
import { endSession, session } from './session.ts';

export interface Answer<T> {
  body: T;
  /** The cursor of the listing's next page, if there is one. */
  cursor: string | undefined;
  date: string | null;
}

/** Throws a `Problem` if the request fails, and the abort reason of the signal if the signal aborts it. */
export async function call<T>(
  request: Request,
  signal?: AbortSignal,
  token = tokenInUse(),
): Promise<Answer<T>> {
  const response = await send(request, token, signal);
  const body: unknown = await response.json().catch(() => undefined);
  signal?.throwIfAborted();
  if (response.status === 401 && token !== undefined) {
    endSession(token, 'This token is not valid, or has ended.');
  }
  if (!response.ok) throw problemIn(response, body);
  if (response.status !== 204 && (typeof body !== 'object' || body === null)) throw noJson();
  return {
    // The page trusts that an answer has the shape that the gateway's OpenAPI document promises.
    // eslint-disable-next-line typescript/no-unsafe-type-assertion
    body: body as T,
    cursor: cursorOf(response),
    date: response.headers.get('date'),
  };
}

function tokenInUse(): string | undefined {
  const { token, ended } = session.get();
  return ended === undefined ? token : undefined;
}

async function send(
  { method, path, body, key }: Request,
  token: string | undefined,
  signal?: AbortSignal,
): Promise<Response> {
  const headers = new Headers();
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  if (key !== undefined) headers.set('idempotency-key', key);
  if (body !== undefined) headers.set('content-type', 'application/json');
  try {
    return await fetch(new URL(path, document.baseURI), {
      method,
      headers,
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch {
    signal?.throwIfAborted();
    throw noAnswer();
  }
}

const problemIn = ({ status, headers }: Response, body: unknown): Problem =>
  problemOf(status, body, headers.get('retry-after'));

function cursorOf({ headers }: Response): string | undefined {
  const link = /<(?<address>[^<>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.groups?.['address'];
  return link === undefined
    ? undefined
    : (new URL(link, document.baseURI).searchParams.get('cursor') ?? undefined);
}
