// The Prometheus metrics of a process: one registry, served on its own port. Every label takes few values, all known from the code.
import { createServer, type Server } from 'node:http';
import { codes, routes, type ErrorCode } from '@integration-sync/contracts';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { buildOf, type Build } from './build.ts';
import { portRefused } from './config/index.ts';
import { openEngineWatch, type EngineWatch } from './engines.ts';
import { gaugesOf } from './gauges.ts';
import { urgentLines } from './urgent-lines.ts';

export { gaugeByLabel, gaugesOf, readInTime } from './gauges.ts';

export interface MetricsOptions {
  service: string;
  build?: Build;
  /** The port of the metrics; 0 takes any free port. */
  port: number;
  host?: string;
}

export interface RequestSeen {
  /** The NATS subject of the request, or the gateway's name for the route. */
  subject: string;
  outcome: 'ok' | ErrorCode;
  seconds: number;
}

export type Metrics = Awaited<ReturnType<typeof openMetrics>>;

export async function openMetrics(options: MetricsOptions) {
  const { service, build = buildOf({}), port, host = '127.0.0.1' } = options;
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopLagEveryMs });
  tellBuild(registry, build);
  gaugesOf(registry)(
    'sync_clock_seconds',
    'The clock of this machine, in Unix seconds.',
    () => Date.now() / 1_000,
  );
  const observeRequest = requestObserver(registry, service);
  const engines = openEngineWatch(registry);
  const server = serverOf(registry, engines);
  const address = await listen(server, host, port);
  return {
    registry,
    url: `http://${address}/metrics`,
    observeRequest,
    engines,
    async [Symbol.asyncDispose](): Promise<void> {
      registry.clear();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** How often Node measures the lag of the event loop. Node's default of 10 ms takes half of the CPU time of an idle service. */
const loopLagEveryMs = 50;

const faults: ReadonlySet<string> = new Set(
  Object.entries(codes).flatMap(([code, { status }]) => (status >= 500 ? [code] : [])),
);

function requestObserver(registry: Registry, service: string): (seen: RequestSeen) => void {
  const labelNames = ['subject', 'outcome'] as const;
  const registers = [registry];
  const requests = new Counter({
    name: 'sync_requests_total',
    help: 'Requests answered, by outcome.',
    labelNames,
    registers,
  });
  const errors = new Counter({
    name: 'sync_request_errors_total',
    help: 'Requests that failed through no fault of the caller (5xx).',
    labelNames,
    registers,
  });
  const seconds = new Histogram({
    name: 'sync_request_seconds',
    help: 'Time from a request to its answer.',
    labelNames: ['subject'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const known = new Set<string>();
  /** Starts each series of faults at 0: Prometheus sees a rise only from a value that it has read before. */
  const begin = (subject: string): void => {
    known.add(subject);
    for (const outcome of faults) {
      requests.inc({ subject, outcome }, 0);
      errors.inc({ subject, outcome }, 0);
    }
  };
  // The series begin before the first request of a route, because that request may have a fault.
  for (const { method, path, subject } of routes) {
    if (service === 'gateway') begin(`${method} ${path}`);
    else if (subject.startsWith(`svc.${service}.`)) begin(subject);
  }
  return ({ subject, outcome, seconds: taken }) => {
    if (!known.has(subject)) begin(subject);
    requests.inc({ subject, outcome });
    if (faults.has(outcome)) errors.inc({ subject, outcome });
    seconds.observe({ subject }, taken);
  };
}

/** A gauge of value 1 whose labels name the release and the commit, as is usual with Prometheus. */
function tellBuild(registry: Registry, { version, revision }: Build): void {
  const gauge = new Gauge({
    name: 'sync_build_info',
    help: 'The release and the commit that this process runs.',
    labelNames: ['version', 'revision'],
    registers: [registry],
  });
  gauge.set({ version, revision }, 1);
}

function serverOf(registry: Registry, engines: EngineWatch): Server {
  return createServer((request, response) => {
    const [path] = request.url?.split('?') ?? [];
    if (path !== '/metrics' && path !== '/ready' && path !== '/log') {
      response.writeHead(404).end();
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
    } else if (path === '/ready') {
      const waited = engines.waitsFor();
      response.writeHead(waited === undefined ? 200 : 503, { 'content-type': 'text/plain' });
      response.end(`${waited ?? 'ready'}\n`);
    } else if (path === '/log') {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(urgentLines());
    } else {
      registry.metrics().then(
        (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    }
  });
}

async function listen(server: Server, host: string, port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(port, host, resolve);
  try {
    await promise;
  } catch (cause) {
    throw portRefused('METRICS_PORT, METRICS_HOST', `${host}:${port}`, cause);
  }
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server of metrics listens on no TCP port');
  return address.family === 'IPv6'
    ? `[${address.address}]:${address.port}`
    : `${address.address}:${address.port}`;
}
