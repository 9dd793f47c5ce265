// The gateway: the service that callers reach by HTTP. This file only connects the parts of the gateway, in order.
import { buildOf } from '@integration-sync/runtime/build';
import { maskSettings, natsOptionsOf } from '@integration-sync/runtime/config';
import { openLog, type Log } from '@integration-sync/runtime/log';
import { openMetrics } from '@integration-sync/runtime/metrics';
import { openTracing } from '@integration-sync/runtime/tracing';
import { openAuthentication } from './authentication.ts';
import { observeBodyBudgets, openBodyBudgets, type BodyBudgetSizes } from './body/body-budgets.ts';
import { GatewayConfig } from './config.ts';
import { openReadiness, whenAnswered } from './readiness.ts';
import { addPages } from './pages.ts';
import { limitRates } from './rate-limit.ts';
import { addRoutes, refuseOtherMethods } from './routing.ts';
import { close, createServer, listen } from './server/server.ts';
import { addTokenPage } from './token-page.ts';
import { openUploads } from './body/uploads.ts';
import { openUpstream } from './upstream.ts';

export interface GatewayDeps {
  /** The clock by which tokens expire, in epoch milliseconds. */
  now?: () => number;
  log?: Log;
  /** Notes for `/readyz` about environment variables that look like misspelt settings. */
  misspelt?: readonly string[];
  bodyBudgets?: BodyBudgetSizes;
  /** How often the gateway looks for uploads that come too slowly. */
  lookEveryMs?: number;
  /** How often the gateway compares the content of the file of clients. */
  clientsEveryMs?: number;
  lastRequestsMs?: number;
  readinessRememberedMs?: number;
}

const hurryEveryMs = 250;

/** The note of `/readyz` if the payload limit of NATS is too low for bodies of the size BODY_BYTES_MAX. */
const notesOfBodies = (wantedMax: number, takenMax: number): string[] =>
  wantedMax <= takenMax
    ? []
    : [
        `Bodies of more than ${takenMax} bytes are refused, although BODY_BYTES_MAX is ${wantedMax}: raise max_payload of nats-server, then restart the services.`,
      ];

export async function startGateway(config: GatewayConfig, deps: GatewayDeps = {}) {
  const { now = Date.now, misspelt = [], clientsEveryMs: checkEveryMs } = deps;
  const log = deps.log ?? openLog({ service: 'gateway', level: config.LOG_LEVEL });
  log.info({ settings: maskSettings(GatewayConfig, config) }, 'starting');
  await using starting = new AsyncDisposableStack();
  const build = buildOf(config);
  const metrics = starting.use(
    await openMetrics({ service: 'gateway', build, port: config.METRICS_PORT, host: config.METRICS_HOST }),
  );
  const tracing = starting.use(await openTracing({ service: 'gateway', config, log }));
  const upstream = starting.use(await openUpstream({ ...natsOptionsOf(config), build, log, tracing }));

  let stopping = false;
  const isStopping = (): boolean => stopping;
  const options = { requestTimeoutMs: config.REQUEST_TIMEOUT_MS, log, metrics, tracing, isStopping };
  const app = starting.adopt(createServer(options), async (server) => {
    // All callers that wait for events, late callers too, are answered before the gateway cuts their connections.
    const hurrying = setInterval(() => upstream.answerNow(), hurryEveryMs);
    upstream.answerNow();
    await close(server, deps.lastRequestsMs);
    clearInterval(hurrying);
  });
  starting.defer(() => {
    stopping = true;
  });

  const access = starting.use(
    await openAuthentication(app, config, { now, log, registry: metrics.registry, checkEveryMs }),
  );
  const bodyBudgets = openBodyBudgets(config.BODY_BYTES_MAX, deps.bodyBudgets);
  observeBodyBudgets(metrics.registry, bodyBudgets);
  const { collect } = starting.use(openUploads(bodyBudgets, deps.lookEveryMs));
  await app.register(async (api) => {
    limitRates(api, config);
    addTokenPage(api, access.verify);
    addRoutes(api, {
      verify: access.verify,
      collect,
      bodyBudgets,
      upstream,
      bodyBytesMax: config.BODY_BYTES_MAX,
      publicBasePath: config.PUBLIC_BASE_PATH,
    });
  });
  const ownNotes = () => [
    ...misspelt,
    ...notesOfBodies(config.BODY_BYTES_MAX, upstream.bodyBytesMax),
    ...access.notes(),
  ];
  const pages = addPages(app, {
    checkReadiness: openReadiness(upstream, isStopping, ownNotes, deps.readinessRememberedMs),
    publicBasePath: config.PUBLIC_BASE_PATH,
    hasTokenEndpoint: access.hasTokenEndpoint,
    hasConsole: config.CONSOLE === 'on',
  });
  refuseOtherMethods(app, pages);
  metrics.engines.needs(
    { nats: () => upstream.connected, issuer: access.issuerIsUp },
    () => 'no service answers requests of the login in NATS_URL',
  );
  const url = await listen(app, config.GATEWAY_HOST, config.GATEWAY_PORT);
  log.info({ url, metrics: metrics.url }, 'serving');
  starting.use(whenAnswered(upstream, access.hasKeys, metrics.engines.served));

  const running = starting.move();
  return { url, metricsUrl: metrics.url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
