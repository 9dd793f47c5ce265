// A request as a value: what the page sends and the curl that it shows are made of the same one. Pure.

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Request {
  readonly method: Method;
  /** Relative to the folder of the page, so that a proxy's prefix stays before it. */
  readonly path: string;
  readonly body?: unknown;
}

const api = 'api/v1/integration';

/** A path of the interface, or, as `Link` has it, a whole address. */
export const get = (path: string, query: Query = {}): Request => ({
  method: 'GET',
  path: `${api}${path}${queryOf(query)}`,
});
export const post = (path: string, body?: unknown): Request => send('POST', path, body);
export const patch = (path: string, body: unknown): Request => send('PATCH', path, body);
export const remove = (path: string): Request => send('DELETE', path);
/** A page of the gateway itself. */
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

/** The command that does the same, with the token or key in `$KEY`. */
export function curlOf({ method, path, body }: Request, base: string): string {
  const words = [`curl -s ${quote(new URL(path, base).href)}`, `-H "Authorization: Bearer $KEY"`];
  if (method !== 'GET') words.splice(1, 0, `-X ${method}`);
  if (body !== undefined)
    words.push(`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(body))}`);
  return words.join(' \\\n  ');
}

/** For a shell: nothing in it is expanded. */
const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
