// The webhooks service: endpoints, and what is delivered to them. This file is its wiring, in order, and nothing
// else. What is opened first is closed last.
import { healthSubject } from '@integration-sync/contracts';
import { buildOf } from '@integration-sync/runtime/build';
import type { Bus } from '@integration-sync/runtime/bus';
import { ConfigError, maskSettings } from '@integration-sync/runtime/config';
import { answerWhileStarting, healthHandlers } from '@integration-sync/runtime/health';
import { type Log, openLog } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { openResources, type ResourcesOptions } from '@integration-sync/runtime/resources';
import type { Store } from '@integration-sync/runtime/store';
import type { buildConnector } from 'undici';
import { attemptsHandlers, deliveryHandlers, openFindSent } from './api/attempt-listing.ts';
import { endpointsHandlers, openTest } from './api/endpoints.ts';
import { withStoreFailures } from './api/handlers.ts';
import { listingHandlers } from './api/endpoint-listing.ts';
import { openRecoveries } from './api/recoveries.ts';
import { openCandidates } from './api/replay-candidates.ts';
import { replayHandlers } from './api/replay.ts';
import { WebhooksConfig } from './config.ts';
import { openRegistrations, type Registrations } from './endpoints/registrations.ts';
import { type Endpoints, openEndpoints, openRevisions, type Revisions } from './endpoints/store.ts';
import { bringBackPlaces, forgetMissingStream, forgetOtherStream } from './endpoints/stream-reset.ts';
import { type Feed, openFeed } from './feed/feed.ts';
import { openCutoff } from './matching/cutoff.ts';
import { checkKeys, tellKeys } from './operating/keys.ts';
import { type Pipeline, startPipeline } from './pipeline.ts';
import { openVault, type Vault } from './secrets/vault.ts';
import { openConnections } from './sending/connections.ts';
import {
  type EgressGuard,
  openEgressGuard,
  openResolver,
  parseAllowList,
  type Resolve,
} from './sending/egress-guard.ts';
import { openPoster } from './sending/post.ts';
import { openSend, type Send } from './sending/send.ts';
import { streamSpecs } from './streams.ts';

export interface Webhooks extends AsyncDisposable {
  readonly metricsUrl: string;
}

export interface WebhooksDeps {
  log?: Log;
  /** Ends the wait for engines that do not come. */
  signal?: AbortSignal;
  /** Is told of every command that goes to MongoDB. */
  onCommand?: ResourcesOptions['onCommand'];
  /** In place of DNS. */
  resolve?: Resolve;
  /** In place of real sockets. */
  connector?: buildConnector.connector;
  /** In place of the well-known certificates. */
  ca?: string;
}

const service = 'webhooks' as const;
/** Attempts that are in flight then are cut off, so that the process ends within its 15 s. */
const stopMs = 11_000;
const requestsInFlightMax = 256;

export async function startWebhooks(config: WebhooksConfig, deps: WebhooksDeps = {}): Promise<Webhooks> {
  const { log = openLog({ service, level: config.LOG_LEVEL }), signal, onCommand } = deps;
  const vault = openVault(config.WEBHOOK_SECRET_KEY);
  const allowed = parseAllowList(config.WEBHOOK_EGRESS_ALLOW) ?? [];
  log.info({ settings: maskSettings(WebhooksConfig, config) }, 'starting');
  await using starting = new AsyncDisposableStack();
  const resources = await openResources({ service, config, log, signal, onCommand });
  const { metrics, store, bus, tracing } = starting.use(resources);
  const stored = await openStored(store);
  const { endpoints, revisions } = stored;
  await checkKeys(vault, store);
  starting.use(tellKeys(bus, vault));
  const ensure = async (): Promise<void> => {
    await forgetMissingStream({ bus, store, endpoints, revisions });
    for (const spec of streamSpecs(config)) await bus.ensureStream(spec);
    await forgetOtherStream({ bus, store, endpoints, revisions });
  };
  await refuseFormerDeliveries(bus, config);
  await answerWhileStarting(bus, identityOf(config), ensure());
  await bringBackPlaces({ bus, store, endpoints, revisions });
  const ensuring = openPeriodicCheck(ensure, { what: 'the streams', everyMs: streamsEveryMs, log });
  // A stop does not wait for NATS.
  starting.defer(() => void ensuring[Symbol.asyncDispose]());
  bus.watchOtherStreams(streamSpecs(config).map(({ name }) => name));

  const { connector, ca } = deps;
  const { WEBHOOK_EGRESS_PROXY: proxyUrl, WEBHOOK_HOSTS_CONNECTED: setsMax } = config;
  const connections = starting.use(openConnections({ proxyUrl, setsMax, connector, ca }));
  const guard = openEgressGuard({ allowed, resolve: openResolver(deps.resolve) });
  const stop = new AbortController();
  const userAgent = `${config.PLATFORM_NAME}-Webhook/1.0`;
  const poster = starting.use(openPoster(stop.signal, connections));
  const sendsTraceparent = config.WEBHOOK_TRACEPARENT;
  const send = openSend({ guard, connections, poster, userAgent, sendsTraceparent, tracing });
  const inFlightMax = config.WEBHOOK_IN_FLIGHT_MAX;
  const pipeline = starting.use(
    await startPipeline({
      bus,
      store,
      endpoints,
      revisions,
      vault,
      send,
      signal: stop.signal,
      inFlightMax,
      inMemoryMax: {
        cached: config.WEBHOOK_ENDPOINTS_REMEMBERED,
        queues: config.WEBHOOK_SUBSCRIPTIONS_REMEMBERED,
      },
      metrics,
      tracing,
      log,
      ensure,
    }),
  );
  const { registry } = metrics;
  const feed = starting.use(openFeed({ bus, keys: config.WEBHOOK_SECRET_KEY, registry, log }));
  const serving = { ...stored, config, bus, store, vault, guard, send, pipeline, feed, log };
  starting.use(recover(serving));
  starting.use(await serve(serving));
  starting.defer(() => {
    const timer = setTimeout(() => stop.abort(new Error('the process stops')), stopMs);
    timer.unref();
  });

  log.info({ metrics: metrics.url }, 'serving');
  const running = starting.move();
  return { metricsUrl: metrics.url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** An operator may delete a stream, nats-server may lose one, and not every one has a reader that notices. */
const streamsEveryMs = 10_000;

const openStored = async (store: Store) => ({
  endpoints: await openEndpoints(store),
  registrations: await openRegistrations(store),
  revisions: openRevisions(store),
});

const identityOf = (config: WebhooksConfig) => ({
  ...buildOf(config),
  service,
  description:
    'Webhook endpoints: registering and managing them, their attempt logs, replays; the event feed',
});

/** Only a former release delivers messages of its streams. */
async function refuseFormerDeliveries(bus: Bus, config: WebhooksConfig): Promise<void> {
  if (config.WEBHOOK_FORMER_STREAMS === 'leave') return;
  const left: string[] = [];
  for (const stream of ['BUNDLES', 'DELIVERIES']) {
    const messages = (await bus.patiently(`stream ${stream}`, () => bus.messagesIn(stream))) ?? 0;
    if (messages > 0) left.push(`${stream} has ${messages} messages`);
  }
  if (left.length === 0) return;
  throw new ConfigError([
    `WEBHOOK_FORMER_STREAMS: ${left.join(', ')} that the release before is to deliver. ` +
      'Run that release until ops streams says that nothing is left, or set this to leave.',
  ]);
}

interface Serving {
  config: WebhooksConfig;
  bus: Bus;
  store: Store;
  endpoints: Endpoints;
  registrations: Registrations;
  revisions: Revisions;
  vault: Vault;
  guard: EgressGuard;
  send: Send;
  pipeline: Pipeline;
  feed: Feed;
  log: Log;
}

const recover = ({ bus, endpoints, revisions, send, pipeline, log }: Serving): AsyncDisposable =>
  openRecoveries({
    endpoints,
    revisions,
    bus,
    candidatesIn: openCandidates({ ...pipeline, bus, endpoints, log }),
    test: openTest({ ...pipeline, send }),
    tellChanged: pipeline.tellChanged,
    log,
  });

function serve({
  config,
  bus,
  store,
  endpoints,
  pipeline,
  feed,
  ...others
}: Serving): Promise<AsyncDisposable> {
  const findSent = openFindSent({ bus, attemptLog: pipeline.attemptLog, log: others.log });
  return bus.serve({
    ...identityOf(config),
    inFlightMax: requestsInFlightMax,
    semaphores: feed.semaphores,
    handlers: {
      ...feed.handlers,
      ...withStoreFailures({
        ...endpointsHandlers({
          ...others,
          ...pipeline,
          endpoints,
          takeCutoff: openCutoff({ bus, endpoints, log: others.log }),
          endpointsMax: config.WEBHOOK_ENDPOINTS_MAX,
        }),
        ...listingHandlers({ endpoints, revisions: others.revisions, cursorKey: config.WEBHOOK_SECRET_KEY }),
        ...attemptsHandlers({
          endpoints,
          attemptLog: pipeline.attemptLog,
          cursorKey: config.WEBHOOK_SECRET_KEY,
        }),
        ...deliveryHandlers(endpoints, findSent),
        ...replayHandlers({ ...pipeline, endpoints, bus, findSent, log: others.log }),
      }),
      ...healthHandlers({
        service,
        store,
        natsMonitorUrl: config.NATS_MONITOR_URL,
        check: pipeline.checkReading,
      }),
    },
    quiet: [healthSubject(service)],
  });
}
