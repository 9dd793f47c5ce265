// Sends requests to each route, each with one oddity. The answer must be one that the OpenAPI document describes.
// Schemathesis sends other methods, and tests of the gateway odd paths.
import { routes, type Route } from '@integration-sync/contracts';
import type { Stack } from '../stack/index.ts';
import { exchange } from './exchange.ts';
import { oddHeaders, oddJson, oddQueryValues, oddTexts, queryNames } from './oddities.ts';
import { findFault } from './verdict.ts';

interface OddRequest {
  /** What is odd about the request, for the report. */
  story: string;
  method: string;
  path: string;
  headers: readonly string[];
  body: string | undefined;
}

const concurrent = 16;
/** How long the fuzzer waits for an answer: a push may take 30 s, and no other request takes longer. */
const answerWithinMs = 35_000;
const faultsKept = 20;

/** Resolves with the faults, each with its request. */
export async function sendOddRequests(stack: Stack, say: (line: string) => void): Promise<string[]> {
  const port = Number(new URL(stack.gateway).port);
  const requests = oddRequests(await gather(stack));
  const statuses = new Map<number | string, number>();
  const faults: string[] = [];
  const send = async (): Promise<void> => {
    for (const request of requests) {
      const outcome = await exchange(port, bytesOf(request), answerWithinMs);
      const status = typeof outcome === 'string' ? outcome : outcome.status;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const fault = findFault(outcome);
      if (fault !== undefined && faults.length < faultsKept) faults.push(`${fault}\n    ${request.story}`);
    }
  };
  await Promise.all(Array.from({ length: concurrent }, send));
  say(`odd requests: ${Array.from(statuses, ([status, count]) => `${count} × ${status}`).join(', ')}`);
  return faults;
}

interface Ingredients {
  token: string;
  /** The id of an existing webhook. */
  webhookId: string;
}

async function gather(stack: Stack): Promise<Ingredients> {
  const token = stack.token({ integration: 'fuzz' });
  const answer = await fetch(`${stack.gateway}/api/v1/integration/webhook-events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    // No receiver listens at this port: deliveries to it fail immediately.
    body: JSON.stringify({ url: 'http://127.0.0.1:9/', events: ['supplier.created'] }),
  });
  const { id }: { id: string } = JSON.parse(await answer.text());
  return { token, webhookId: id };
}

function* oddRequests(ingredients: Ingredients): Generator<OddRequest, void, undefined> {
  for (const route of routes) {
    const usual = usualRequest(route, ingredients);
    const odd = (story: string, changed: Partial<OddRequest>): OddRequest => {
      const named = story.length > 80 ? `${story.slice(0, 80)}…` : story;
      return { ...usual, ...changed, story: `${route.operationId}, ${named}` };
    };
    for (const header of oddHeaders) yield odd(header, { headers: [...usual.headers, header] });
    for (const left of usual.headers)
      yield odd(`without ${left}`, { headers: usual.headers.filter((header) => header !== left) });
    for (const name of queryNames)
      for (const value of oddQueryValues)
        yield odd(`${name}=${value}`, { path: `${usual.path}?${name}=${value}` });
    if (usual.body === undefined) continue;
    for (const body of oddBodies(usual.body)) yield odd(body, { body });
  }
}

function usualRequest(route: Route, { token, webhookId }: Ingredients): Omit<OddRequest, 'story'> {
  const headers = ['host: 127.0.0.1', `authorization: Bearer ${token}`];
  return {
    method: route.method,
    path: route.path.replace('{id}', webhookId),
    headers: route.body === undefined ? headers : [...headers, 'content-type: application/json'],
    body: route.body === undefined ? undefined : JSON.stringify(route.body.example),
  };
}

const valueInJson = /(?<=":)(?:"[^"]*"|[\d.]+|true|false|null)/g;
const nameInJson = /"\w+"(?=:)/g;

/** Copies of the body: each with one value or name replaced by an odd one; then one cut short, one too long, and one empty. */
function* oddBodies(body: string): Generator<string, void, undefined> {
  const values = [...oddJson, ...oddTexts.map((text) => JSON.stringify(text))];
  for (const [places, odd] of [
    [[...body.matchAll(valueInJson)], values],
    [[...body.matchAll(nameInJson)], oddTexts.map((text) => JSON.stringify(text))],
  ] as const) {
    for (const [at, text] of odd.entries()) {
      const place = places[at % places.length];
      if (place === undefined) continue;
      yield body.slice(0, place.index) + text + body.slice(place.index + place[0].length);
    }
  }
  yield body.slice(0, -1);
  yield `${body}}`;
  yield '';
}

function bytesOf({ method, path, headers, body }: OddRequest): Buffer {
  const framed = body === undefined ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  return Buffer.from([`${method} ${path} HTTP/1.1`, ...headers, ...framed, '', body ?? ''].join('\r\n'));
}
