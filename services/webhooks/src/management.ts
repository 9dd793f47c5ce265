// What callers do with their endpoints: register, list, read, change, rotate, delete and test. An endpoint of
// another integration is as absent as one that never was.
import { randomBytes, randomUUID } from 'node:crypto';
import {
  basePath,
  ChangeWebhook,
  eventsStream,
  Failure,
  limits,
  parseListingQuery,
  RegisterWebhook,
  requestHeaders,
  RotateSecret,
  subjects,
} from '@integration-sync/contracts';
import type { Bus, BusHandler, BusRequest } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Announcer } from './announcer.ts';
import type { AttemptLog } from './attemptlog.ts';
import { bodyReader, invalidRequest } from './body.ts';
import type { Directory } from './directory.ts';
import {
  earlierEventsMax,
  newEndpoint,
  previousSecretsMax,
  registeredWebhookOf,
  servingSecrets,
  webhookOf,
  type Endpoint,
} from './endpoint.ts';
import { disabling, type Endpoints } from './endpoints.ts';
import { TargetRefused, type Guard } from './guard.ts';
import type { Held } from './held.ts';
import type { Numbers } from './numbers.ts';
import { makeSecret } from './secret.ts';
import type { Send } from './sender.ts';
import type { Subscribers } from './subscribers.ts';
import type { Vault } from './vault.ts';

export interface ManagementOptions {
  endpoints: Endpoints;
  vault: Vault;
  guard: Guard;
  directory: Pick<Directory, 'prepare'>;
  send: Send;
  bus: Pick<Bus, 'streamFacts'>;
  held: Pick<Held, 'removeEndpoint'>;
  attemptLog: Pick<AttemptLog, 'removeEndpoint'>;
  announcer: Pick<Announcer, 'announce'>;
  numbers: Pick<Numbers, 'disabledBy'>;
  subscribers: Pick<Subscribers, 'changed'>;
  tellChanged: (endpointId: string) => void;
  endpointsMax: number;
  log: Log;
}

/** Each of them may hold a receiver's whole ten seconds. */
const testsMax = 64;

export function managementHandlers(options: ManagementOptions): Record<string, BusHandler> {
  return {
    [subjects.endpointsRegister]: registering(options),
    [subjects.endpointsList]: listing(options),
    [subjects.endpointsGet]: async (request) => json(webhookOf(await endpointOf(options.endpoints, request))),
    [subjects.endpointsChange]: changing(options),
    [subjects.endpointsRotate]: rotating(options),
    [subjects.endpointsRemove]: removing(options),
    [subjects.endpointsTest]: testing(options),
  };
}

export const json = (body: unknown, status = 200) => ({ status, body: JSON.stringify(body) });

export async function endpointOf(endpoints: Endpoints, request: BusRequest): Promise<Endpoint> {
  const id = request.headers.get(requestHeaders.id) ?? '';
  const endpoint = await endpoints.findOf(request.integration, id);
  if (endpoint === null) throw absent();
  return endpoint;
}

const absent = (): Failure => new Failure('not_found', 'There is no webhook with this id.');

function registering({
  endpoints,
  subscribers,
  vault,
  guard,
  bus,
  endpointsMax,
}: ManagementOptions): BusHandler {
  const read = bodyReader(RegisterWebhook);
  return async ({ body, integration }) => {
    const { url, events } = read(body);
    await checkUrl(guard, url);
    if ((await endpoints.count(integration)) >= endpointsMax) throw tooMany(endpointsMax);
    const id = `wh_${randomBytes(16).toString('hex')}`;
    const secret = makeSecret();
    const { lastSequence } = await bus.streamFacts(eventsStream);
    const endpoint = newEndpoint({
      id,
      integration,
      url,
      events,
      secret: vault.seal(secret, id),
      eventsAfter: lastSequence,
    });
    await endpoints.insert(endpoint);
    // Others may have registered at the same moment; then none of the last ones may stay, but never one too many.
    if ((await endpoints.count(integration)) > endpointsMax) {
      await endpoints.remove(integration, id);
      throw tooMany(endpointsMax);
    }
    await subscribers.changed(integration);
    return {
      ...json(registeredWebhookOf(endpoint, secret), 201),
      headers: { location: `${basePath}/webhook-events/${id}` },
    };
  };
}

const tooMany = (max: number): Failure =>
  new Failure('conflict', `An integration may have ${max} webhooks; delete one first.`);

async function checkUrl(guard: Guard, url: string): Promise<void> {
  try {
    await guard(url);
  } catch (error) {
    if (!(error instanceof TargetRefused)) throw error;
    throw invalidRequest([{ pointer: '/url', detail: `url: ${error.message}` }]);
  }
}

const listing =
  ({ endpoints }: ManagementOptions): BusHandler =>
  async ({ integration, headers }) => {
    const query = new URLSearchParams(headers.get(requestHeaders.query) ?? '');
    const { page, limit } = parseListingQuery(query);
    const [found, total] = await Promise.all([
      endpoints.list(integration, page, limit),
      endpoints.count(integration),
    ]);
    return json({ entities: found.map(webhookOf), total, page, limit });
  };

function changing(options: ManagementOptions): BusHandler {
  const { endpoints, subscribers, guard, bus, announcer, numbers, tellChanged } = options;
  const read = bodyReader(ChangeWebhook);
  return async (request) => {
    const wanted = read(request.body);
    if (wanted.url !== undefined) await checkUrl(guard, wanted.url);
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const { lastSequence } = await bus.streamFacts(eventsStream);
      const change = changeOf(endpoint, wanted, lastSequence, new Date());
      const changed = change === undefined ? endpoint : await endpoints.change(endpoint, change);
      // Somebody else changed it meanwhile, be it by a delivery that failed.
      if (changed === null) continue;
      // Also where it is so already: perhaps since a moment ago, by one who could not tell anybody any more.
      await subscribers.changed(changed.integration);
      tellChanged(changed._id);
      if (endpoint.active && !changed.active) {
        numbers.disabledBy('manual');
        announcer.announce(changed);
      }
      return json(webhookOf(changed));
    }
  };
}

/** The update that makes the endpoint as wanted, for the events after that place; undefined if it is so already. */
export function changeOf(endpoint: Endpoint, wanted: ChangeWebhook, lastSequence: number, now: Date) {
  const { url = endpoint.url, active = endpoint.active } = wanted;
  const kinds = wanted.events === undefined ? endpoint.events : [...new Set(wanted.events)];
  const moves = url !== endpoint.url;
  const subscribes = kinds.join() !== endpoint.events.join();
  const starts = active && !endpoint.active;
  const stops = !active && endpoint.active;
  if (!moves && !subscribes && !starts && !stops) return undefined;
  const stopped = stops ? disabling(endpoint, 'manual', endpoint.failures, now) : undefined;
  const earlier = { $each: [{ through: lastSequence, events: endpoint.events }], $slice: -earlierEventsMax };
  return {
    $set: {
      url,
      events: kinds,
      // Another receiver is another matter: it starts with one attempt in flight.
      ...(moves ? { open: false } : {}),
      ...(starts ? { ...enabled, eventsAfter: lastSequence } : {}),
      ...stopped?.$set,
    },
    $inc: { version: 1, ...(moves || starts ? { mark: 1 } : {}), ...stopped?.$inc },
    ...(subscribes || stops
      ? { $push: { ...(subscribes ? { earlierEvents: earlier } : {}), ...stopped?.$push } }
      : {}),
  };
}

const enabled = {
  active: true,
  disabledAt: null,
  disabledReason: null,
  failures: 0,
  open: false,
  trials: [],
};

function rotating({ endpoints, subscribers, vault, tellChanged }: ManagementOptions): BusHandler {
  const read = bodyReader(RotateSecret, { optional: true });
  return async (request) => {
    const { gracePeriodSeconds = limits.gracePeriodSecondsDefault } = read(request.body);
    const secret = makeSecret();
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const expiresAt = gracePeriodSeconds === 0 ? null : new Date(Date.now() + gracePeriodSeconds * 1000);
      const previousSecrets =
        expiresAt === null
          ? []
          : [{ sealed: endpoint.secret, expiresAt }, ...servingSecrets(endpoint, Date.now())];
      const changed = await endpoints.change(endpoint, {
        $set: {
          secret: vault.seal(secret, endpoint._id),
          previousSecrets: previousSecrets.slice(0, previousSecretsMax),
        },
        $inc: { version: 1 },
      });
      if (changed === null) continue;
      await subscribers.changed(changed.integration);
      tellChanged(changed._id);
      return json({
        ...webhookOf(changed),
        secret,
        previousSecretExpiresAt: expiresAt?.toISOString() ?? null,
      });
    }
  };
}

const removing =
  ({ endpoints, subscribers, held, attemptLog, tellChanged, log }: ManagementOptions): BusHandler =>
  async (request) => {
    const id = request.headers.get(requestHeaders.id) ?? '';
    const removed = await endpoints.remove(request.integration, id);
    if (!removed && (await endpoints.find(id)) !== null) throw absent();
    // Also where it is gone already: perhaps since a moment ago, by one who could not tell anybody any more.
    await subscribers.changed(request.integration);
    tellChanged(id);
    if (!removed) throw absent();
    // From here on it is gone. What is left of it is only in the way, and expires by itself.
    const tidied = await Promise.allSettled([held.removeEndpoint(id), attemptLog.removeEndpoint(id)]);
    for (const part of tidied) {
      if (part.status === 'rejected') log.warn({ err: part.reason, endpoint: id }, 'not tidied up');
    }
    return { status: 204 };
  };

function testing({ endpoints, directory, send }: ManagementOptions): BusHandler {
  let underWay = 0;
  return async (request) => {
    const endpoint = await endpointOf(endpoints, request);
    if (underWay >= testsMax) {
      throw new Failure('unavailable', 'Too many tests are under way.', { retryAfterSeconds: 2 });
    }
    underWay += 1;
    try {
      const { verdict, responseStatus, durationMs, error } = await send(
        directory.prepare(endpoint),
        testOf(endpoint),
      );
      return json({ delivered: verdict === 'succeeded', responseStatus, durationMs, error });
    } finally {
      underWay -= 1;
    }
  };
}

function testOf({ _id, integration }: Endpoint) {
  const event = 'webhook.test';
  const timestamp = new Date().toISOString();
  const body = { event, timestamp, integrationId: integration, data: { webhookId: _id } };
  return { eventId: `test-${randomUUID()}`, event, timestamp, body: Buffer.from(JSON.stringify(body)) };
}
