// Draws a request of the fuzzer: a valid one from the route table, with up to three odd changes.
import { eventKinds, routes, type Route } from '@integration-sync/contracts';
import { methods, oddHeaders, oddJson, oddPaths, oddQueryValues, oddTexts } from './oddities.ts';
import type { Random } from './random.ts';

export interface OddRequest {
  /** Its bytes on the wire. */
  bytes: Buffer;
  /** Whether an answer to the request has a body: an answer to HEAD has none. */
  expectsBody: boolean;
  /** The odd changes to the request, for the report. */
  story: string;
}

export interface Ingredients {
  /** Valid tokens of several integrations. */
  tokens: readonly [string, ...string[]];
  /** The ids of existing webhooks. */
  webhookIds: readonly string[];
}

interface Draft {
  method: string;
  path: string;
  query: string;
  headers: string[];
  body: Buffer | undefined;
  framing: 'length' | 'chunked';
  story: string[];
}

const [firstRoute, ...otherRoutes] = routes;

export function drawRequest(random: Random, ingredients: Ingredients): OddRequest {
  if (firstRoute === undefined) throw new Error('the API has no routes to send requests to');
  const route = random.pick([firstRoute, ...otherRoutes]);
  const draft = draftOf(route, random, ingredients);
  for (let left = random.integer(4); left > 0; left -= 1) random.pick(mutations)(draft, random);
  return render(draft);
}

function draftOf(route: Route, random: Random, { tokens, webhookIds }: Ingredients): Draft {
  const id = webhookIds[random.integer(Math.max(1, webhookIds.length))] ?? 'wh_unknown';
  return {
    method: route.method,
    path: route.path.replace('{id}', id),
    query: '',
    headers: [
      'host: 127.0.0.1',
      `authorization: Bearer ${random.pick(tokens)}`,
      ...(route.body === undefined ? [] : ['content-type: application/json']),
    ],
    body: route.body === undefined ? undefined : Buffer.from(JSON.stringify(route.body.example)),
    framing: random.chance(0.2) ? 'chunked' : 'length',
    story: [route.operationId],
  };
}

type Mutation = (draft: Draft, random: Random) => void;

const mutations: readonly [Mutation, ...Mutation[]] = [
  function replaceMethod(draft, random) {
    draft.method = random.pick(methods);
    draft.story.push(`method ${draft.method}`);
  },
  function replacePath(draft, random) {
    draft.path = random.pick(oddPaths);
    draft.story.push(`path ${draft.path}`);
  },
  function spoilPath(draft, random) {
    const at = random.integer(draft.path.length);
    const odd = random.pick(['%2f', '%00', '%', '/', '.', '%ff', '?', '#', 'ä', '\\', '%0d%0a'] as const);
    draft.path = draft.path.slice(0, at) + odd + draft.path.slice(at + random.integer(2));
    draft.story.push(`path ${draft.path}`);
  },
  addQuery,
  addQuery,
  addQuery,
  function dropHeader(draft, random) {
    const [dropped] = draft.headers.splice(random.integer(draft.headers.length), 1);
    draft.story.push(`without ${dropped?.split(':')[0] ?? 'any header'}`);
  },
  addHeader,
  addHeader,
  function spoilToken(draft, random) {
    draft.headers = draft.headers.map((header) =>
      header.startsWith('authorization') ? spoil(header, random) : header,
    );
    draft.story.push('token spoiled');
  },
  function replaceValue(draft, random) {
    if (draft.body === undefined) return;
    const odd = random.chance(0.5) ? random.pick(oddJson) : JSON.stringify(random.pick(oddTexts));
    const values = [
      ...draft.body
        .toString()
        .matchAll(/"(?:[^"\\]|\\.)*"(?!\s*:)|-?\d+(?:\.\d+)?|true|false|null|\[[^[\]]*\]/g),
    ];
    const value = values[random.integer(Math.max(1, values.length))];
    if (value === undefined) return;
    const text = draft.body.toString();
    draft.body = Buffer.from(text.slice(0, value.index) + odd + text.slice(value.index + value[0].length));
    draft.story.push(`value ${odd.slice(0, 40)}`);
  },
  function replaceBody(draft, random) {
    draft.body = Buffer.from(random.chance(0.5) ? random.pick(oddJson) : random.pick(oddTexts));
    draft.story.push(`body ${draft.body.toString().slice(0, 40)}`);
  },
  function spoilBytes(draft, random) {
    if (draft.body === undefined || draft.body.length === 0) return;
    const bytes = Buffer.from(draft.body);
    for (let left = 1 + random.integer(4); left > 0; left -= 1)
      bytes[random.integer(bytes.length)] = random.integer(256);
    draft.body = random.chance(0.3) ? bytes.subarray(0, random.integer(bytes.length)) : bytes;
    draft.story.push('bytes spoiled');
  },
  function repeatItems(draft, random) {
    const count = random.pick([2, 50, 499, 500, 501, 2_000] as const);
    const text = draft.body?.toString() ?? '';
    const list = /\[(?<item>\{.*\})\]/s.exec(text);
    const item = list?.groups?.['item'];
    // Repeating items that are already repeated would need more memory than there is.
    if (list === null || item === undefined || item.length > 1_000) return;
    draft.body = Buffer.from(
      text.replace(list[0], () => `[${Array.from({ length: count }, () => item).join(',')}]`),
    );
    draft.story.push(`${count} items`);
  },
  function swapNames(draft, random) {
    if (draft.body === undefined) return;
    const name = random.pick([
      'suppliers',
      'products',
      'batches',
      'externalId',
      'events',
      '__proto__',
      'toString',
    ] as const);
    draft.body = Buffer.from(draft.body.toString().replace(/"\w+"(?=:)/, JSON.stringify(name)));
    draft.story.push(`name ${name}`);
  },
  function addLargeBody(draft, random) {
    if (!random.chance(0.1)) return;
    draft.body = Buffer.alloc(random.pick([1_000_000, 5_242_880, 5_242_881, 6_000_000] as const), ' ');
    draft.story.push(`${draft.body.length} bytes`);
  },
];

function addQuery(draft: Draft, random: Random): void {
  const name = random.pick([
    'page',
    'limit',
    'since',
    'cursor',
    'outcome',
    'event',
    'x',
    '',
    'page[]',
    '__proto__',
    '%00',
  ] as const);
  const value = random.chance(0.7)
    ? random.pick(oddQueryValues)
    : random.chance(0.2)
      ? (eventKinds[random.integer(eventKinds.length)] ?? '')
      : encodeURIComponent(random.pick(oddTexts).toWellFormed());
  draft.query += `${draft.query === '' ? '?' : '&'}${name}=${value}`;
  draft.story.push(`query ${name}=${value.slice(0, 40)}`);
}

function addHeader(draft: Draft, random: Random): void {
  const header = random.pick(oddHeaders);
  draft.headers.push(header);
  draft.story.push(`header ${header.slice(0, 40)}`);
}

function spoil(text: string, random: Random): string {
  const at = random.integer(text.length);
  return (
    text.slice(0, at) +
    random.pick(['A', '.', '=', ' ', 'é', ''] as const) +
    text.slice(at + random.integer(3))
  );
}

function render({ method, path, query, headers, body, framing, story }: Draft): OddRequest {
  const framed =
    body === undefined
      ? []
      : framing === 'chunked'
        ? ['transfer-encoding: chunked']
        : [`content-length: ${body.length}`];
  const head = [`${method} ${path}${query} HTTP/1.1`, ...headers, ...framed, '', ''].join('\r\n');
  return {
    bytes: Buffer.concat([
      Buffer.from(head, 'utf8'),
      body === undefined ? Buffer.alloc(0) : frame(body, framing),
    ]),
    expectsBody: method !== 'HEAD',
    story: story.join(', '),
  };
}

function frame(body: Buffer, framing: Draft['framing']): Buffer {
  if (framing === 'length') return body;
  const half = Math.floor(body.length / 2);
  const chunks = [body.subarray(0, half), body.subarray(half)].filter((chunk) => chunk.length > 0);
  return Buffer.concat([
    ...chunks.flatMap((chunk) => [
      Buffer.from(`${chunk.length.toString(16)}\r\n`),
      chunk,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('0\r\n\r\n'),
  ]);
}
