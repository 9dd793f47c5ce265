// What is of this client alone: its signals, concurrent calls, a clock that is set, webhooks. The rest is in cases.test.ts.
import { openClient, RequestFailed, Unreachable } from '@integration-sync/client';
import { expect, it, vi } from 'vitest';
import { pause } from '../../support/pause.ts';

interface Asked {
  url: string;
  headers: Headers;
  body: string;
  at: number;
}

type Respond = (asked: Asked, count: number) => Response | Promise<Response>;

const supplier = { externalId: 'S-1', name: 'One' };
const json = (body: object, headers: Record<string, string> = {}): Response =>
  Response.json(body, { headers });
const problem = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json({ status, code, detail: `it is ${code}` }, { status, headers });

function openAsked(respond: Respond, options: object = {}) {
  const asked: Asked[] = [];
  const client = openClient({
    baseUrl: 'http://service.test/',
    key: 'isk_key',
    fetch: async (url, init = {}) => {
      const one = {
        url: url instanceof Request ? url.url : url.toString(),
        headers: new Headers(init.headers),
        body: typeof init.body === 'string' ? init.body : '',
        at: Date.now(),
      };
      asked.push(one);
      return respond(one, asked.length);
    },
    ...options,
  });
  return { client, asked };
}

/** Of a push or a plan in which each item is created. */
function created({ body }: Asked): object {
  const [items]: { externalId: string }[][] = Object.values(JSON.parse(body));
  return {
    success: true,
    created: items?.length,
    updated: 0,
    unchanged: 0,
    errors: [],
    records: items?.map(({ externalId }) => ({
      externalId,
      internalId: `i-${externalId}`,
      status: 'CREATED',
    })),
    details: items?.map((_item, index) => ({
      index,
      action: 'created',
      changedFields: [],
      problems: [],
      ignored: [],
    })),
  };
}

it.each([429, 503])(
  'a retry after a %i waits no longer where the clock of the machine is set back',
  async (status) => {
    const { client } = openAsked((one, count) => {
      setTimeout(() => vi.setSystemTime(Date.now() - 3_600_000), 3_000);
      return count < 100 ? problem(status, 'wait', { 'retry-after': '7' }) : json(created(one));
    });
    const begunAt = performance.now();
    await expect(client.push('suppliers', [supplier])).rejects.toThrow(Unreachable);
    expect(performance.now() - begunAt).toBeLessThan(5 * 60_000);
  },
);

it('the client halves the size of requests once for each refused size, also if concurrent pushes are too large', async () => {
  const limit = 16_384;
  const items = Array.from({ length: 500 }, (_, at) => ({ externalId: `S-${at}`, name: 'x'.repeat(200) }));
  const { client, asked } = openAsked((one) =>
    one.body.length > limit ? problem(413, 'body_too_large') : json(created(one)),
  );
  await Promise.all(Array.from({ length: 4 }, () => client.push('suppliers', items)));
  const before = asked.length;
  await client.push('suppliers', items);
  const sizes = asked.slice(before).map(({ body }) => body.length);
  expect(Math.max(...sizes)).toBeGreaterThan(limit / 4);
  expect(sizes.length).toBeLessThan(20);
});

it('the client does not repeat a registration of a webhook that may have succeeded', async () => {
  const { client, asked } = openAsked(() => problem(503, 'unavailable'));
  const registration = { url: 'https://erp.example.com/', events: ['sync.completed' as const] };
  await expect(client.webhooks.register(registration)).rejects.toMatchObject({ status: 503 });
  expect(asked).toHaveLength(1);
});

it('the client repeats a registration with the same Idempotency-Key', async () => {
  const answers = [problem(503, 'unavailable'), Response.json({ id: 'wh_1' }, { status: 201 })];
  const { client, asked } = openAsked(() => answers.shift() ?? problem(500, 'internal'));
  const registration = { url: 'https://erp.example.com/', events: ['sync.completed' as const] };
  expect(await client.webhooks.register(registration, 'hook-1')).toEqual({ id: 'wh_1' });
  expect(asked).toHaveLength(2);
  for (const { headers } of asked)
    expect(Object.fromEntries(headers)).toMatchObject({
      'idempotency-key': 'hook-1',
      'content-type': 'application/json',
    });
});

it('the client refuses a key or token that no header can carry, with an error that does not show the value', async () => {
  const words = 'no key or token has such characters: was it copied whole?';
  for (const wrong of ['isk_a\nb', 'isk_a’', '']) {
    expect(() => openAsked(() => json({}), { key: wrong })).toThrow(new TypeError(words));
    const fetched = vi.fn<typeof fetch>();
    const client = openClient({ baseUrl: 'http://service.test', token: async () => wrong, fetch: fetched });
    await expect(client.token()).rejects.toThrow(new TypeError(words));
    expect(fetched).not.toHaveBeenCalled();
  }
  // As of a variable of the environment that is not set.
  const key = undefined as unknown as string;
  expect(() => openAsked(() => json({}), { key })).toThrow(new TypeError(words));
  const { client, asked } = openAsked(() => json({}), { key: 'isk_a.b~c+/-_=\n' });
  await client.token();
  expect(asked[0]?.headers.get('authorization')).toBe('Bearer isk_a.b~c+/-_=');
});

it.each([
  ['NaN', Number.NaN],
  ['-Infinity', -Infinity],
  ['Invalid Date', new Date(Number.NaN)],
])('no push clears a field for which its caller gave %s', async (text, value) => {
  const { client, asked } = openAsked((one) => json(created(one)));
  for (const last of [0, 500]) {
    const items = Array.from({ length: last + 1 }, (_, at) => ({
      externalId: `B-${at}`,
      productExternalId: 'P-1',
      batchNumber: 'null',
      quantity: at === last ? (value as number) : null,
    }));
    const words = `item ${last}, quantity: ${text} is no value of JSON; leave the field out, or give null to clear it`;
    await expect(client.push('batches', items)).rejects.toThrow(new TypeError(words));
  }
  expect(asked).toEqual([]);
});

it('a call ends immediately when its signal is aborted', async () => {
  const { client, asked } = openAsked(() => problem(503, 'unavailable', { 'retry-after': '60' }));
  const abort = new AbortController();
  const pushing = client.push('suppliers', [supplier], { signal: abort.signal });
  setTimeout(() => abort.abort(new Error('enough')), 1_000);
  const begunAt = Date.now();
  await expect(pushing).rejects.toThrow('enough');
  expect(Date.now() - begunAt).toBe(1_000);
  expect(asked).toHaveLength(1);
});

it('a call with its own signal ends immediately when the signal of the client is aborted', async () => {
  const abort = new AbortController();
  const { client } = openAsked(() => problem(503, 'unavailable', { 'retry-after': '60' }), {
    signal: abort.signal,
  });
  const pushing = client.push('suppliers', [supplier], { signal: new AbortController().signal });
  setTimeout(() => abort.abort(new Error('enough')), 1_000);
  const begunAt = Date.now();
  await expect(pushing).rejects.toThrow('enough');
  expect(Date.now() - begunAt).toBe(1_000);
});

/** Windows as the gateway counts them: each begins with a request, and what it says of its end is rounded up. */
function limited(limit: number, windowMs: number): { respond: Respond; refused: () => number } {
  let endsAt = 0;
  let count = 0;
  let refused = 0;
  const respond: Respond = async (one) => {
    await pause(5 + (count % 3) * 10);
    if (Date.now() >= endsAt) {
      endsAt = Date.now() + windowMs;
      count = 0;
    }
    count += 1;
    const reset = String(Math.ceil((endsAt - Date.now()) / 1_000));
    const headers = {
      'ratelimit-limit': String(limit),
      'ratelimit-remaining': String(Math.max(limit - count, 0)),
      'ratelimit-reset': reset,
    };
    const isOver = count > limit;
    await pause(40);
    if (!isOver) return json(created(one), headers);
    refused += 1;
    return problem(429, 'rate_limited', { ...headers, 'retry-after': reset });
  };
  return { respond, refused: () => refused };
}

for (const [limit, windowMs] of [
  [4, 1_000],
  [40, 10_000],
] as const) {
  it(`eight concurrent callers use nine tenths of a limit of ${limit} requests in ${windowMs} ms`, async () => {
    const service = limited(limit, windowMs);
    const { client, asked } = openAsked(service.respond);
    await client.push('suppliers', [supplier]);
    const begunAt = Date.now();
    const callers = Array.from({ length: 8 }, async () => {
      for (let count = 0; count < 30; count += 1) await client.push('suppliers', [supplier]);
    });
    await Promise.all(callers);
    const perSecond = 240 / ((Date.now() - begunAt) / 1_000);
    expect(perSecond).toBeGreaterThan(0.9 * 4);
    expect(service.refused()).toBeLessThan(10);
    expect(asked.length).toBe(241 + service.refused());
  });
}

it('the client fetches one token for many calls, and a new token after a 401', async () => {
  let tokens = 0;
  const { client, asked } = openAsked(
    (one) => {
      if (one.url.endsWith('/oauth/token')) {
        tokens += 1;
        return json({ access_token: `token-${tokens}`, expires_in: 3_600 });
      }
      const isRevoked = tokens === 1 && asked.length > 4;
      return isRevoked ? problem(401, 'unauthorized') : json(created(one));
    },
    { key: undefined, clientId: 'erp:1', clientSecret: 'isk_ä' },
  );
  await Promise.all([client.push('suppliers', [supplier]), client.push('suppliers', [supplier])]);
  expect(tokens).toBe(1);
  expect(asked[0]?.headers.get('authorization')).toBe(`Basic ${btoa('erp%3A1:isk_%C3%A4')}`);
  expect(asked[0]?.body).toBe('grant_type=client_credentials');
  await client.push('suppliers', [supplier]);
  await client.push('suppliers', [supplier]);
  expect(tokens).toBe(2);
  expect(asked.at(-1)?.headers.get('authorization')).toBe('Bearer token-2');
});

it('an aborted call that waits for a token ends immediately, and other calls go on', async () => {
  const { client, asked } = openAsked(
    async (one, count) => {
      if (!one.url.endsWith('/oauth/token')) return json(created(one));
      await pause(3_000);
      return count === 1 ? problem(503, 'unavailable') : json({ access_token: 'token', expires_in: 3_600 });
    },
    { key: undefined, clientId: 'erp', clientSecret: 'isk_key' },
  );
  const begunAt = Date.now();
  const other = client.push('suppliers', [supplier]);
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error('enough')), 1_000);
  await expect(client.push('suppliers', [supplier], { signal: abort.signal })).rejects.toThrow('enough');
  expect(Date.now() - begunAt).toBe(1_000);
  expect((await other).created).toBe(1);
  expect(asked).toHaveLength(3);
});

it('calls fail with 401, without an unhandled rejection, where no other token is available', async () => {
  let tokens = 0;
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  const { client } = openAsked(
    async (one) => {
      if (!one.url.endsWith('/oauth/token')) {
        // The second refusal comes while the first call already fetches another token.
        if (one.body.includes('S-2')) await pause(100);
        return problem(401, 'unauthorized');
      }
      tokens += 1;
      if (tokens === 1) return json({ access_token: 'token', expires_in: 3_600 });
      await pause(1_000);
      return Response.json({ error: 'invalid_client' }, { status: 401 });
    },
    { key: undefined, clientId: 'erp', clientSecret: 'isk_key' },
  );
  const calls = [supplier, { ...supplier, externalId: 'S-2' }].map((one) => client.push('suppliers', [one]));
  const outcomes = await Promise.allSettled(calls);
  await pause(1_000);
  process.off('unhandledRejection', note);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(unhandled).toEqual([]);
});

it('the client calls the callback of a push for each repetition of its requests, and for no other request', async () => {
  const { client } = openAsked((one, count) =>
    count < 4 ? problem([429, 503, 502][count - 1] ?? 500, 'wait') : json(created(one)),
  );
  let repetitions = 0;
  const repeated = (): void => void (repetitions += 1);
  await client.push('suppliers', [supplier], { repeated });
  expect(repetitions).toBe(3);
  await client.push('suppliers', [supplier], { repeated });
  await client.plan('suppliers', [supplier], { repeated });
  expect(repetitions).toBe(3);
});

it('a redirect in a browser, which hides its status and its address, is reported as a redirect', async () => {
  const { client, asked } = openAsked(() => Response.error());
  await expect(client.push('suppliers', [supplier])).rejects.toThrow(/was answered 0: a redirect$/);
  expect(asked).toHaveLength(1);
});

it('an answer without content, which a proxy gives in place of the service, is refused', async () => {
  const { client, asked } = openAsked(() => new Response(null, { status: 204 }));
  await expect(client.token()).rejects.toThrow(RequestFailed);
  expect(asked).toHaveLength(1);
});
