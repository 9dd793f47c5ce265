// Requests as plain values. The page fetches with such a value, and also shows it as a curl command. Pure.

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Request {
  readonly method: Method;
  /** Relative to the page's address, so that a path prefix that a proxy adds to the page also precedes this path. */
  readonly path: string;
  readonly body?: unknown;
  /** An `Idempotency-Key`: with it, the gateway carries out a repeated request once. */
  readonly key?: string;
}

const api = 'api/v1/integration';

/** The GET of a path below `/api/v1/integration`. */
export const get = (path: string, query: Query = {}): Request => ({
  method: 'GET',
  path: `${api}${path}${queryOf(query)}`,
});
export const post = (path: string, body?: unknown): Request => send('POST', path, body);
export const put = (path: string, body: unknown): Request => send('PUT', path, body);
export const patch = (path: string, body: unknown): Request => send('PATCH', path, body);
export const remove = (path: string): Request => send('DELETE', path);
/** The GET of a page of the gateway itself, such as `readyz`. */
export const page = (path: string): Request => ({ method: 'GET', path });

const send = (method: Method, path: string, body?: unknown): Request => ({
  method,
  path: `${api}${path}`,
  ...(body === undefined ? {} : { body }),
});

function queryOf(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** The curl command that sends the same request, with the token or key in `$KEY`. */
export function curlOf({ method, path, body, key }: Request, base: string): string {
  const words = [`curl -s ${quote(new URL(path, base).href)}`, `-H "Authorization: Bearer $KEY"`];
  if (method !== 'GET') words.splice(1, 0, `-X ${method}`);
  if (key !== undefined) words.push(`-H 'Idempotency-Key: ${key}'`);
  if (body !== undefined)
    words.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body))}`);
  return words.join(' \\\n  ');
}

/** The text in single quotes, within which a shell expands nothing. */
const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
