// The webhooks service in this process, on a NATS of its own and a database of its own: what its component tests
// register with, publish to and read from.
import { randomUUID } from 'node:crypto';
import {
  announcedKinds,
  mayAnnounce,
  publishWithBatch,
  routes,
  type Announcer,
  type DrillCheck,
} from '@integration-sync/contracts';
import type { Engine } from '@integration-sync/dev/engines';
import { openBus, type Bus } from '@integration-sync/runtime/bus';
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import { openStore, type Store } from '@integration-sync/runtime/store';
import { startWebhooks, type Webhooks, type WebhooksDeps } from '@integration-sync/webhooks';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { inject } from 'vitest';
import { openTestLog } from './log.ts';
import { startNats, startNatsAs } from './nats.ts';

export const secretKeyOf = (id: string, fill: number): string =>
  `${id}:${Buffer.alloc(32, fill).toString('base64')}`;
export const secretKey = secretKeyOf('first', 7);

export interface House extends AsyncDisposable {
  readonly bus: Bus;
  readonly store: Store;
  readonly nats: Engine;
  /** All log lines, as they would be in the file. */
  readonly lines: string[];
  readonly environment: Record<string, string>;
  /** Starts a replica; disposing of the house stops the replica, if no test has stopped it. */
  start(deps?: WebhooksDeps, environment?: Record<string, string>): Promise<Webhooks>;
  as(integration: string): Client;
  /** An integration that no other test uses. */
  newClient(): Client;
}

/** An answer of the service, of which a test reads the part that it asked for. */
export interface AnswerBody extends Registered {
  disabledAt: string | null;
  disabledReason: string | null;
  consecutiveFailures: number;
  previousSecretExpiresAt: string | null;
  entities: (Registered & LoggedAttempt)[];
  total: number;
  page: number;
  limit: number;
  delivered: boolean;
  responseStatus: number | null;
  durationMs: number;
  error: string | null;
  queued: number;
  passed: boolean;
  checks: DrillCheck[];
  details?: { description: string | null; headerNames: string[]; recover: boolean; inFlightMax: number };
  attempts: (LoggedAttempt & { responseBody: string | null })[];
  body: string | null;
}

export interface LoggedAttempt {
  eventId: string;
  event: string;
  attempt: number;
  at: string;
  outcome: string;
  responseStatus: number | null;
  durationMs: number;
  error: string | null;
  nextAttemptAt: string | null;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: AnswerBody;
}

export interface Registered {
  id: string;
  url: string;
  events: string[];
  active: boolean;
  secret: string;
  createdAt: string;
}

export interface Asking {
  id?: string;
  eventId?: string;
  /** The header `Idempotency-Key` of the caller, which the gateway passes on. */
  key?: string;
  query?: string;
  body?: unknown;
  /** A body that is sent as it is, in place of `body` as JSON. */
  raw?: string | Uint8Array;
}

export interface Client {
  readonly integration: string;
  ask(verb: string, options?: Asking): Promise<Answer>;
  register(url: string, events?: string[]): Promise<Registered>;
  /** Announces events as catalog does; answers with their ids. */
  announce(count?: number, event?: string, timestamp?: string): Promise<string[]>;
}

const otherSubjects: Readonly<Record<string, string>> = {
  deliveries: 'svc.webhooks.deliveries.list',
  delivery: 'svc.webhooks.deliveries.get',
};

export interface HouseOptions {
  mongodbUrl?: string;
  /** The lines of nats-server's configuration, in place of the usual ones. */
  natsLines?: readonly string[];
  /** A NATS that the test has started, and stops. */
  nats?: Engine;
}

export async function openHouse(options: HouseOptions = {}): Promise<House> {
  const { mongodbUrl = inject('engines').mongodb, natsLines } = options;
  const stack = new AsyncDisposableStack();
  const { log, lines } = openTestLog('webhooks');
  const nats =
    options.nats ?? stack.use(await (natsLines === undefined ? startNats() : startNatsAs(natsLines)));
  const database = `webhooks_${randomUUID().replaceAll('-', '')}`;
  const environment = {
    NATS_URL: nats.url,
    MONGODB_URL: mongodbUrl,
    MONGODB_DATABASE: database,
    WEBHOOK_SECRET_KEY: secretKey,
    WEBHOOK_EGRESS_ALLOW: '127.0.0.0/8',
  };
  const quiet = openLog({ service: 'test', level: 'silent' });
  const bus = stack.use(await openBus({ url: nats.url, name: 'test', log: quiet }));
  const store = stack.use(await openStore({ url: environment.MONGODB_URL, database, log: quiet }));
  stack.defer(async () => void (await store.database.dropDatabase()));

  const house: House = {
    bus,
    store,
    nats,
    lines,
    environment,
    async start(deps = {}, more = {}) {
      const config = readConfig(WebhooksConfig, { ...environment, ...more });
      return stack.use(once(await startWebhooks(config, { log, ...deps })));
    },
    as: (integration) => clientOf(bus, integration),
    newClient: () => clientOf(bus, `acme-${randomUUID().slice(0, 8)}`),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
  return house;
}

/** The service that announces events of the kind. */
const announcerOf = (kind: string): Announcer =>
  (Object.keys(announcedKinds) as Announcer[]).find((one) => mayAnnounce(one, kind)) ?? 'catalog';

/** Makes a second disposal return the promise of the first. */
function once(webhooks: Webhooks): Webhooks {
  let stopped: Promise<void> | undefined;
  return {
    metricsUrl: webhooks.metricsUrl,
    [Symbol.asyncDispose]: () => (stopped ??= webhooks[Symbol.asyncDispose]()),
  };
}

const statusOf = (subject: string): number | undefined =>
  routes.find((route) => route.subject === subject)?.answer.status;

export function clientOf(bus: Bus, integration: string): Client {
  const client: Client = {
    integration,
    async ask(verb: string, options: Asking = {}) {
      const { id, eventId, key, query, body, raw } = options;
      const subject = otherSubjects[verb] ?? `svc.webhooks.endpoints.${verb}`;
      const reply = await bus.request(subject, {
        headers: {
          integration,
          'request-id': randomUUID(),
          id,
          'event-id': eventId,
          'idempotency-key': key,
          query,
        },
        body: raw ?? (body === undefined ? '' : JSON.stringify(body)),
        timeoutMs: 30_000,
      });
      const text = Buffer.from(reply.body).toString();
      return {
        // The status with which the gateway would answer.
        status: Number(reply.headers.get('status') ?? statusOf(subject)),
        headers: Object.fromEntries(reply.headers),
        body: (text === '' ? undefined : JSON.parse(text)) as AnswerBody,
      };
    },
    async register(url, events = ['supplier.created']) {
      const { body } = await client.ask('register', { body: { url, events } });
      return body;
    },
    async announce(count = 1, event = 'supplier.created', timestamp = new Date().toISOString()) {
      const ids = Array.from({ length: count }, () => randomUUID());
      const events = ids.map((id, index) => ({
        subject: `events.${integration}.${event}`,
        id,
        body: JSON.stringify({
          event,
          timestamp,
          integrationId: integration,
          data: { externalId: `S-${index}`, internalId: `sup_${index}` },
        }),
      }));
      await publishWithBatch(bus, { announcer: announcerOf(event), integration, events });
      return ids;
    },
  };
  return client;
}
