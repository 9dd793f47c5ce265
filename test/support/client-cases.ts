// A service that is written out in the cases of test/cases/client.json, and the calls of them. The clients of all languages pass
// these cases; python/tests/cases.py is the same service for the Python client.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client, ClientOptions, Kind, PushOutcome, SetExpectations } from '@integration-sync/client';
import { pause } from './pause.ts';

type Json = Record<string, unknown>;

interface Scripted {
  status: number;
  headers?: Record<string, string>;
  body?: Json;
  text?: string;
}

type Script = 'created' | 'broken' | 'cut off' | Scripted;

interface Service {
  /** The answers to requests, in order; tokens are answered apart. */
  answers?: Script[];
  /** The answer to all later requests: each item is created, unless given. */
  then?: Script;
  tokens?: string[];
  bodyBytesMax?: number;
  itemsMax?: number;
  limit?: { requests: number; windowSeconds: number };
}

type Repeated = { character: string; times: number };
type Items = Json[] | { count: number; certification?: Repeated; last?: { name: Repeated } };

export interface CaseCall {
  push?: Kind;
  plan?: Kind;
  list?: Kind;
  poll?: Kind;
  archive?: Kind;
  events?: Json;
  runs?: Json;
  run?: string;
  /** What to set of the expectations; null reads them. */
  expect?: SetExpectations | null;
  items?: Items;
  count?: number;
  options?: Json;
  /** How many pages are read of an iterator without an end. */
  pages?: number;
  times?: number;
  outcome?: unknown;
  isWhole?: boolean;
  lastDetail?: Json;
  fails?: Json & { error: 'RequestFailed' | 'Unreachable'; message?: string };
  requests?: { method?: string; path?: string; headers?: Json; body?: Json; form?: string }[];
  sizes?: number[];
  besides?: Json;
  authorizations?: string[];
  bodyBytesMax?: number;
  requestsMin?: number;
  requestsMax?: number;
  refusedMax?: number;
  seconds?: [number, number];
  waits?: [number, number][];
}

interface Case {
  title: string;
  client?: Json & { path?: string; patienceSeconds?: number; tokens?: string[]; clientId?: string };
  service?: Service;
  calls: CaseCall[];
}

interface Delivery {
  title: string;
  secret: string;
  headers: Record<string, string>;
  body: string;
  /** The time at which it is verified, in seconds. */
  at: number;
  event?: Json;
  refused?: string;
  isWrongSecret?: true;
}

const file = join(import.meta.dirname, '../cases/client.json');
export const cases: { calls: Case[]; deliveries: Delivery[] } = JSON.parse(readFileSync(file, 'utf8'));

export interface Asked {
  method: string;
  path: string;
  headers: Headers;
  body: string;
  at: number;
}

const repeated = ({ character, times }: Repeated): string => character.repeat(times);

export function itemsOf(items: Items = []): Json[] {
  if (Array.isArray(items)) return items;
  const { count, certification, last } = items;
  const all: Json[] = Array.from({ length: count }, (_, index) => ({
    externalId: `S-${index}`,
    name: `Supplier ${index}`,
    ...(certification === undefined ? {} : { certifications: [repeated(certification)] }),
  }));
  return last === undefined ? all : [...all, { ...last, name: repeated(last.name) }];
}

/** The items of a pushed body, and what stands beside them. */
export function readBody(body: string): { items: Json[]; besides: Json } {
  const { suppliers, products, batches, ...besides } = JSON.parse(body) as Record<string, Json[]>;
  return { items: suppliers ?? products ?? batches ?? [], besides };
}

export class ScriptedService {
  readonly asked: Asked[] = [];
  /** How many requests were answered 429, and 401. */
  refused = 0;
  unauthorized = 0;
  #syncs = 0;
  #tokens = 0;
  #window = { endsAt: 0, count: 0 };
  readonly #script: Script[];
  readonly #service: Service;

  constructor(service: Service = {}) {
    this.#service = service;
    this.#script = [...(service.answers ?? [])];
  }

  readonly fetch = async (url: URL | Request | string, init: RequestInit = {}): Promise<Response> => {
    const { pathname, search } = new URL(url instanceof Request ? url.url : url);
    const body = typeof init.body === 'string' ? init.body : '';
    const headers = new Headers(init.headers);
    const asked = { method: init.method ?? 'GET', path: pathname + search, headers, body, at: Date.now() };
    this.asked.push(asked);
    if (asked.path === '/oauth/token') return this.#token();
    if (this.#service.limit !== undefined) return this.#limited(asked, this.#service.limit);
    const refusal = this.#tooLarge(asked);
    return refusal ?? this.#answer(this.#script.shift() ?? this.#service.then ?? 'created', asked);
  };

  #token(): Response {
    const token = this.#service.tokens?.[this.#tokens];
    this.#tokens += 1;
    if (token === undefined) return Response.json({ error: 'invalid_client' }, { status: 401 });
    return Response.json({ access_token: token, expires_in: 3_600 });
  }

  #tooLarge({ body }: Asked): Response | undefined {
    const { bodyBytesMax = Infinity, itemsMax = Infinity } = this.#service;
    if (Buffer.byteLength(body) > bodyBytesMax) return refuse('body_too_large');
    return itemsMax < Infinity && readBody(body).items.length > itemsMax
      ? refuse('too_many_items')
      : undefined;
  }

  /** Windows as the gateway counts them: each begins with a request, and what it says of its end is rounded up. */
  async #limited(asked: Asked, limit: { requests: number; windowSeconds: number }): Promise<Response> {
    await pause(20);
    if (Date.now() >= this.#window.endsAt)
      this.#window = { endsAt: Date.now() + limit.windowSeconds * 1_000, count: 0 };
    this.#window.count += 1;
    const { endsAt, count } = this.#window;
    const reset = String(Math.ceil((endsAt - Date.now()) / 1_000));
    const headers = {
      'ratelimit-limit': String(limit.requests),
      'ratelimit-remaining': String(Math.max(limit.requests - count, 0)),
      'ratelimit-reset': reset,
    };
    await pause(25);
    if (count <= limit.requests) return this.#answer({ ...this.#created(asked), headers }, asked);
    this.refused += 1;
    return this.#answer({ status: 429, headers: { ...headers, 'retry-after': reset } }, asked);
  }

  #answer(script: Script, asked: Asked): Response {
    if (typeof script === 'object' && script.status === 401) this.unauthorized += 1;
    if (script === 'broken') throw new TypeError('fetch failed', { cause: new Error('ECONNRESET') });
    if (script === 'cut off') return new Response(cutOff());
    const { status, headers = {}, body = {}, text } = script === 'created' ? this.#created(asked) : script;
    return new Response(text ?? JSON.stringify(body), { status, headers });
  }

  #created({ path, body }: Asked): Scripted {
    const { items } = readBody(body);
    const kind = path.split('/').at(-1)?.split('?')[0];
    this.#syncs += 1;
    return {
      status: 200,
      headers: path.endsWith('/plan') ? {} : { 'x-sync-id': `sync_${this.#syncs}` },
      body: {
        success: true,
        created: items.length,
        updated: 0,
        unchanged: 0,
        errors: [],
        records: items.map(({ externalId }) => ({ externalId, internalId: '', status: 'CREATED' })),
        details: items.map((_item, index) => ({
          index,
          action: 'created',
          changedFields: [],
          problems: [{ pointer: `/${kind}/${index}/name`, code: 'required', detail: '' }],
          ignored: [`/${kind}/${index}/more`],
        })),
      },
    };
  }
}

const refuse = (code: string): Response => Response.json({ code, detail: code }, { status: 413 });

/** The beginning of a body, after which the connection breaks. */
const cutOff = (): ReadableStream<Uint8Array> => {
  let isBegun = false;
  return new ReadableStream({
    pull(controller) {
      if (isBegun) controller.error(new Error('terminated'));
      else controller.enqueue(new TextEncoder().encode('{"success": tr'));
      isBegun = true;
    },
  });
};

export function optionsOf({ client = {} }: Case, service: ScriptedService): ClientOptions {
  const { path = '/', patienceSeconds, tokens, clientId, ...rest } = client;
  const token = (): string => tokens?.[Math.min(service.unauthorized, tokens.length - 1)] ?? '';
  return {
    baseUrl: `http://service.test${path}`,
    fetch: service.fetch,
    ...(patienceSeconds === undefined ? {} : { patienceMs: patienceSeconds * 1_000 }),
    ...rest,
    ...(clientId === undefined ? {} : { clientId }),
    ...(tokens === undefined ? {} : { token }),
    ...(clientId === undefined && tokens === undefined ? { key: 'isk_key' } : {}),
  } as ClientOptions;
}

async function take<Value>(iterator: AsyncIterable<Value>, most = Infinity): Promise<Value[]> {
  const taken: Value[] = [];
  for await (const value of iterator) {
    taken.push(value);
    if (taken.length >= most) break;
  }
  return taken;
}

/** What a call of a case ends with; the options of all languages have the names of the interface. */
export async function make(client: Client, call: CaseCall): Promise<unknown> {
  const options = call.options ?? {};
  const items = itemsOf(call.items) as never[];
  if (call.push !== undefined) return client.push(call.push, items, options);
  if (call.plan !== undefined) return client.plan(call.plan, items, options);
  if (call.list !== undefined) return take(client.list(call.list, options));
  if (call.poll !== undefined) return take(client.poll(call.poll, inMs(options)), call.pages);
  if (call.events !== undefined) return take(client.poll('events', call.events), call.pages);
  if (call.runs !== undefined) return take(client.runs(call.runs));
  if (call.run !== undefined) return client.run(call.run);
  if (call.expect === null) return client.expectations.get();
  if (call.expect !== undefined) return client.expectations.set(call.expect);
  const ids = Array.from({ length: call.count ?? 0 }, (_, index) => `S-${index}`);
  return client.archive(call.archive ?? 'suppliers', ids);
}

const inMs = ({ everySeconds, ...rest }: Json): object =>
  everySeconds === undefined ? rest : { ...rest, everyMs: Number(everySeconds) * 1_000 };

export const isPush = (outcome: unknown): outcome is PushOutcome =>
  typeof outcome === 'object' && outcome !== null && 'details' in outcome;
