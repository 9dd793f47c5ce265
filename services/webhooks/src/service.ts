// The webhooks service: endpoints, and what is delivered to them. This file is its wiring, in order, and nothing
// else. What is opened first is closed last.
import { eventsStream, eventsStreamSpec, healthSubject } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { openFooting } from '@integration-sync/runtime/footing';
import { healthHandlers } from '@integration-sync/runtime/health';
import { openLog, type Log } from '@integration-sync/runtime/log';
import type { Store } from '@integration-sync/runtime/store';
import type { buildConnector } from 'undici';
import { parseAllowList } from './address.ts';
import { bringBackPlaces, forgetOtherStream } from './anew.ts';
import { answering } from './answering.ts';
import type { WebhooksConfig } from './config.ts';
import { openConnections } from './connections.ts';
import { deliveriesHandlers } from './deliveries.ts';
import { startDispatch, type Dispatch } from './dispatch.ts';
import { openEndpoints, type Endpoints } from './endpoints.ts';
import { checkKeys } from './keycheck.ts';
import { openGuard, type Guard } from './guard.ts';
import { managementHandlers } from './management.ts';
import { replayHandlers } from './replay.ts';
import { openResolver, type Resolve } from './resolver.ts';
import { openPoster } from './post.ts';
import { openSender, type Send } from './sender.ts';
import { deliverConsumer, deliveriesStream, fanoutConsumer, streamSpecs } from './streams.ts';
import { openSubscribers, type Subscribers } from './subscribers.ts';
import { keepUp } from './upkeep.ts';
import { openVault, type Vault } from './vault.ts';

export interface Webhooks extends AsyncDisposable {
  readonly metricsUrl: string;
}

export interface WebhooksDeps {
  log?: Log;
  /** Ends the wait for engines that do not come. */
  signal?: AbortSignal;
  /** In place of DNS. */
  resolve?: Resolve;
  /** In place of real sockets. */
  connector?: buildConnector.connector;
  /** In place of the well-known certificates. */
  ca?: string;
}

const service = 'webhooks';
/** What is in flight then is cut off, so that the process ends within its 15 s. */
const stopMs = 11_000;
const requestsInFlightMax = 256;

export async function startWebhooks(config: WebhooksConfig, deps: WebhooksDeps = {}): Promise<Webhooks> {
  const { log = openLog({ service, level: config.LOG_LEVEL }), signal } = deps;
  const vault = openVault(config.WEBHOOK_SECRET_KEY);
  const allowed = parseAllowList(config.WEBHOOK_EGRESS_ALLOW) ?? [];
  await using starting = new AsyncDisposableStack();
  const { metrics, store, bus } = starting.use(await openFooting({ service, config, log, signal }));
  const endpoints = await openEndpoints(store);
  await checkKeys(vault, endpoints);
  const subscribers = openSubscribers(store, endpoints);
  const ensure = async (): Promise<void> => {
    await ensureStreams(bus, config.STREAM_REPLICAS);
    await forgetOtherStream({ bus, store, endpoints, subscribers });
    await ensureConsumers(bus);
  };
  await ensure();
  await bringBackPlaces({ bus, store, endpoints, subscribers });
  starting.use(keepUp(ensure, log));

  const { connector, ca } = deps;
  const connections = starting.use(openConnections({ proxyUrl: config.WEBHOOK_EGRESS_PROXY, connector, ca }));
  const guard = openGuard({ allowed, resolve: openResolver(deps.resolve) });
  const stop = new AbortController();
  const userAgent = `${config.PLATFORM_NAME}-Webhook/1.0`;
  const poster = starting.use(openPoster(stop.signal, connections));
  const send = openSender({ guard, connections, poster, userAgent });
  const inFlightMax = config.WEBHOOK_IN_FLIGHT_MAX;
  const dispatch = starting.use(
    startDispatch({
      bus,
      endpoints,
      subscribers,
      vault,
      send,
      signal: stop.signal,
      inFlightMax,
      metrics,
      log,
      ensure,
    }),
  );
  starting.use(
    await serve({ config, bus, store, endpoints, subscribers, vault, guard, send, dispatch, log }),
  );
  starting.defer(() => {
    const timer = setTimeout(() => stop.abort(new Error('the process stops')), stopMs);
    timer.unref();
  });

  log.info({ metrics: metrics.url }, 'serving');
  const running = starting.move();
  return { metricsUrl: metrics.url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

async function ensureStreams(bus: Bus, replicas: number): Promise<void> {
  for (const spec of [eventsStreamSpec(replicas), ...streamSpecs(replicas)]) await bus.ensureStream(spec);
}

async function ensureConsumers(bus: Bus): Promise<void> {
  await bus.ensureConsumer(eventsStream, fanoutConsumer);
  await bus.ensureConsumer(deliveriesStream, deliverConsumer);
}

interface Serving {
  config: WebhooksConfig;
  bus: Bus;
  store: Store;
  endpoints: Endpoints;
  subscribers: Subscribers;
  vault: Vault;
  guard: Guard;
  send: Send;
  dispatch: Dispatch;
  log: Log;
}

function serve({ config, bus, store, endpoints, dispatch, ...others }: Serving): Promise<AsyncDisposable> {
  return bus.serve({
    service,
    version: '1.0.0',
    description: 'Webhook endpoints: registering and managing them, their attempt logs, replays',
    inFlightMax: requestsInFlightMax,
    handlers: {
      ...answering({
        ...managementHandlers({
          ...others,
          ...dispatch,
          bus,
          endpoints,
          endpointsMax: config.WEBHOOK_ENDPOINTS_MAX,
        }),
        ...deliveriesHandlers({
          endpoints,
          attemptLog: dispatch.attemptLog,
          cursorKey: config.WEBHOOK_SECRET_KEY,
        }),
        ...replayHandlers({ endpoints, held: dispatch.held, bus }),
      }),
      ...healthHandlers({ service, store, natsMonitorUrl: config.NATS_MONITOR_URL }),
    },
    quiet: [healthSubject(service)],
  });
}
