// The wiring of the webhooks service, which stores endpoints and delivers events to them. Parts are closed in the reverse order
// of their opening.
import { buildOf } from '@integration-sync/runtime/build';
import { maskSettings } from '@integration-sync/runtime/config';
import { watchFilling } from '@integration-sync/runtime/filling';
import { healthHandlers } from '@integration-sync/runtime/health';
import { type Log, openLog } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { openResources, type ResourcesOptions } from '@integration-sync/runtime/resources';
import { withStoreFailures } from '@integration-sync/runtime/store';
import type { Tracing } from '@integration-sync/runtime/tracing';
import type { buildConnector } from 'undici';
import { attemptsHandlers, openFindSent } from './api/attempt-listing.ts';
import { endpointsHandlers } from './api/endpoints.ts';
import { openDrill } from './api/drill.ts';
import { openTest } from './api/test-delivery.ts';
import { listingHandlers } from './api/endpoint-listing.ts';
import { openRecoveries } from './api/recoveries.ts';
import { openReplayBounds } from './api/replay-bounds.ts';
import { openCandidates } from './api/replay-candidates.ts';
import { replayHandlers } from './api/replay.ts';
import { WebhooksConfig } from './config.ts';
import { openRegistrations } from './endpoints/idempotency-keys.ts';
import { openEndpoints, openRevisions } from './endpoints/endpoint-store.ts';
import { openStreamReset } from './endpoints/stream-reset.ts';
import { openFeed } from './feed/feed.ts';
import { openCutoff } from './matching/cutoff.ts';
import { checkKeys, tellKeys } from './operating/keys.ts';
import { startPipeline } from './pipeline.ts';
import { openVault } from './secrets/vault.ts';
import { openConnections } from './sending/receiver-connections.ts';
import { openEgressGuard, openResolver, parseAllowList, type Resolve } from './sending/egress-guard.ts';
import { userAgentOf } from './sending/delivery-headers.ts';
import { openPoster } from './sending/post.ts';
import { openSend } from './sending/send.ts';
import { fillableOf, streamSpecs } from './streams.ts';

export type Webhooks = Awaited<ReturnType<typeof startWebhooks>>;

export interface WebhooksDeps {
  log?: Log;
  /** Aborts the wait for MongoDB and NATS at the start. */
  signal?: AbortSignal;
  /** Notes for `/readyz` about environment variables that look like misspelt settings. */
  misspelt?: readonly string[];
  /** Called for every command to MongoDB. */
  onCommand?: ResourcesOptions['onCommand'];
  /** Resolves host names in place of DNS. */
  resolve?: Resolve;
  /** Makes the sockets to receivers in place of real sockets. */
  connector?: buildConnector.connector;
  /** The CA certificates that receivers may have, in place of the well-known ones. */
  ca?: string;
}

const service = 'webhooks' as const;
/** After this time a stop aborts test deliveries, and writes that wait for MongoDB: the process ends within 15 s. */
const stopMs = 11_000;
const requestsInFlightMax = 256;

export async function startWebhooks(config: WebhooksConfig, deps: WebhooksDeps = {}) {
  const { log = openLog({ service, level: config.LOG_LEVEL }) } = deps;
  await using starting = new AsyncDisposableStack();
  const stop = new AbortController();
  const parts = await openParts(config, { ...deps, log }, starting, stop.signal);
  starting.use(openRecoveries(parts));
  starting.use(await serve(parts));
  starting.defer(() => {
    const timer = setTimeout(() => stop.abort(new Error('the process stops')), stopMs);
    timer.unref();
  });

  await parts.served();
  const { metricsUrl } = parts;
  log.info({ metrics: metricsUrl }, 'serving');
  const running = starting.move();
  return { metricsUrl, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Opens the parts that the API uses. The signal `stop` aborts work for which the stop waits no longer. */
async function openParts(
  config: WebhooksConfig,
  { log, signal, misspelt, onCommand, ...deps }: WebhooksDeps & { log: Log },
  starting: AsyncDisposableStack,
  stop: AbortSignal,
) {
  const vault = openVault(config.WEBHOOK_SECRET_KEY);
  log.info({ settings: maskSettings(WebhooksConfig, config) }, 'starting');
  const resources = starting.use(
    await openResources({
      service,
      config,
      log,
      signal,
      misspelt,
      onCommand,
      provenIn: 'webhook_endpoints',
    }),
  );
  const { metrics, store, bus, tracing, proof, served } = resources;
  const endpoints = await openEndpoints(store);
  const registrations = await openRegistrations(store);
  const revisions = openRevisions(store);
  await checkKeys(vault, store);
  starting.use(tellKeys(bus, vault));
  const streamReset = openStreamReset({ bus, store, endpoints, revisions, log });
  const specs = streamSpecs(config);
  const ensure = async (): Promise<void> => {
    await streamReset.forgetMissing();
    for (const spec of specs) await bus.ensureStream(spec);
    await streamReset.forgetOther();
  };
  await ensure();
  const ensuring = openPeriodicCheck(ensure, { what: 'the streams', everyMs: streamsEveryMs, log });
  // The stop does not wait for a running check of the streams, which may wait for NATS.
  starting.defer(() => void ensuring[Symbol.asyncDispose]());
  bus.watchOtherStreams(specs.map(({ name }) => name));
  const streams = fillableOf(specs);
  const { NATS_MONITOR_URL: monitorUrl } = config;
  const filling = starting.use(watchFilling({ bus, streams, monitorUrl, registry: metrics.registry, log }));
  resources.addNotes(filling.notes);

  const { guard, send } = openSending(config, deps, tracing, starting);
  const stored = { store, endpoints, revisions, streamReset };
  const pipeline = starting.use(
    await startPipeline({ ...resources, ...stored, config, vault, send, signal: stop, log, ensure }),
  );
  const { stream, replicas } = pipeline;
  const feeding = { bus, stream, keys: config.WEBHOOK_SECRET_KEY, registry: metrics.registry, log };
  const feed = starting.use(openFeed({ ...feeding, mayEncrypt: () => replicas.allOpenPlaces }));
  const candidatesIn = openCandidates({ ...pipeline, bus, endpoints, log });
  const test = openTest(pipeline.cache, pipeline.attemptLog, send, stop);
  return {
    ...pipeline,
    ...stored,
    config,
    bus,
    registrations,
    vault,
    guard,
    feed,
    candidatesIn,
    test,
    drill: openDrill(pipeline.cache, send, stop),
    log,
    metricsUrl: metrics.url,
    proof,
    served,
  };
}

type Parts = Awaited<ReturnType<typeof openParts>>;

function openSending(
  config: WebhooksConfig,
  { resolve, connector, ca }: WebhooksDeps,
  tracing: Tracing | undefined,
  starting: AsyncDisposableStack,
) {
  const { WEBHOOK_EGRESS_PROXY: proxyUrl, WEBHOOK_HOSTS_CONNECTED: setsMax } = config;
  const connections = starting.use(openConnections({ proxyUrl, setsMax, connector, ca }));
  const allowed = parseAllowList(config.WEBHOOK_EGRESS_ALLOW) ?? [];
  const guard = openEgressGuard({ allowed, resolve: openResolver(resolve) });
  const poster = starting.use(openPoster(connections));
  const { PLATFORM_NAME, WEBHOOK_TRACEPARENT: sendsTraceparent } = config;
  const userAgent = userAgentOf(PLATFORM_NAME);
  return { guard, send: openSend({ guard, connections, poster, userAgent, sendsTraceparent, tracing }) };
}

/** How often missing streams are created again: an operator may delete a stream, and nats-server may lose a stream. */
const streamsEveryMs = 10_000;

function serve(parts: Parts): Promise<AsyncDisposable> {
  const { config, bus, proof, endpoints, revisions, attemptLog, feed, log } = parts;
  const { WEBHOOK_SECRET_KEY: cursorKey, WEBHOOK_ENDPOINTS_MAX: endpointsMax } = config;
  const takeCutoff = openCutoff(parts);
  const findSent = openFindSent(attemptLog, bus, log);
  const health = { service, proof, natsMonitorUrl: config.NATS_MONITOR_URL, check: parts.checkReading };
  return bus.serve({
    ...buildOf(config),
    service,
    description:
      'Webhook endpoints: registering and managing them, their attempt logs, replays; the event feed',
    inFlightMax: requestsInFlightMax,
    semaphores: feed.semaphores,
    handlers: {
      ...feed.handlers,
      ...withStoreFailures({
        ...endpointsHandlers({ ...parts, takeCutoff, endpointsMax }),
        ...listingHandlers(endpoints, revisions, cursorKey),
        ...attemptsHandlers(endpoints, attemptLog, findSent, cursorKey),
        ...replayHandlers({ ...parts, findSent, takeCutoff, bounds: openReplayBounds(parts) }),
      }),
      ...healthHandlers(health),
    },
  });
}
