// One request to a gateway, with JSON.

export interface HttpAnswer {
  status: number;
  headers: Headers;
  // What it holds depends on the route, and a test reads the part that it asked for.
  body: ReturnType<typeof JSON.parse>;
}

export async function callHttp(
  url: string,
  token: string,
  method = 'GET',
  body?: unknown,
): Promise<HttpAnswer> {
  const authorization = `Bearer ${token}`;
  const response = await fetch(url, {
    method,
    headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(40_000),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}
