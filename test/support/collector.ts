// A collector of traces on loopback: it takes OTLP over HTTP, as JSON, and remembers every span.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from './servers.ts';

export interface SeenSpan {
  service: string;
  name: string;
  kind: string;
  traceId: string;
  spanId: string;
  /** Empty for the root span of a trace. */
  parentSpanId: string;
  attributes: Record<string, unknown>;
  failed: boolean;
}

export type Behaviour = 'takes' | 'refuses' | 'says nothing';

export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly spans: SeenSpan[];
  /** The Content-Type of each request. */
  readonly contentTypes: string[];
  /** The headers of the last request. */
  readonly headers: IncomingHttpHeaders;
  /** Changes how the collector answers. Requests that have no answer yet are answered in the new way. */
  behave(behaviour: Behaviour): void;
}

interface KeyValue {
  key: string;
  value: Record<string, unknown>;
}

interface Exported {
  resourceSpans: {
    resource: { attributes: KeyValue[] };
    scopeSpans: {
      spans: {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        kind: number;
        attributes?: KeyValue[];
        status?: { code?: number };
      }[];
    }[];
  }[];
}

const kinds = ['', 'internal', 'server', 'client', 'producer', 'consumer'];
const errorStatus = 2;

export async function openCollector(): Promise<Collector> {
  const spans: SeenSpan[] = [];
  const contentTypes: string[] = [];
  let headers: IncomingHttpHeaders = {};
  let behaviour: Behaviour = 'takes';
  const unanswered: [body: string, response: ServerResponse][] = [];

  const answer = (body: string, response: ServerResponse): void => {
    if (behaviour === 'takes') {
      spans.push(...spansIn(JSON.parse(body) as Exported));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    } else if (behaviour === 'refuses') response.writeHead(400).end();
    else unanswered.push([body, response]);
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method !== 'POST' || request.url !== '/v1/traces') return void response.writeHead(404).end();
    ({ headers } = request);
    contentTypes.push(request.headers['content-type'] ?? '');
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(Buffer.concat(chunks).toString(), response));
  };
  return {
    ...(await listen(createServer(onRequest))),
    spans,
    contentTypes,
    get headers() {
      return headers;
    },
    behave(next) {
      behaviour = next;
      for (const [body, response] of unanswered.splice(0)) answer(body, response);
    },
  };
}

const spansIn = ({ resourceSpans }: Exported): SeenSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map(({ traceId, spanId, parentSpanId = '', name, kind, attributes, status }) => ({
        service: String(valuesOf(resource.attributes)['service.name']),
        name,
        kind: kinds[kind] ?? '',
        traceId,
        spanId,
        parentSpanId,
        attributes: valuesOf(attributes),
        failed: status?.code === errorStatus,
      })),
    ),
  );

/** OTLP nests each value under the name of its type, such as `stringValue`. */
const valuesOf = (all: readonly KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(all.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Each span with its parent: `catalog: answer svc… < gateway: ask svc…`. */
export function branchesOf(spans: readonly SeenSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const nameOf = ({ service, name }: SeenSpan): string => `${service}: ${name}`;
  return spans.map((span) => {
    const parent = byId.get(span.parentSpanId);
    return `${nameOf(span)} < ${parent === undefined ? span.parentSpanId : nameOf(parent)}`;
  });
}
