// What callers do with their endpoints: register, read, change, rotate, delete and test. Listing them is in listing.ts.
import { randomBytes } from 'node:crypto';
import {
  basePath,
  ChangeWebhook,
  Failure,
  type FailureEntry,
  limits,
  RegisterWebhook,
  requestHeaders,
  RotateSecret,
  subjects,
} from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { AttemptLog } from '../delivering/attempt-log.ts';
import type { DisabledEvents } from '../endpoints/disabled-events.ts';
import {
  newEndpoint,
  previousSecretsMax,
  registeredWebhookOf,
  servingSecrets,
  webhookOf,
  type PreviousSecret,
} from '../endpoints/endpoint.ts';
import type { Revisions } from '../endpoints/revisions.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { noCutoff, type TakeCutoff } from '../fanout/cutoff.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { Held } from '../retrying/held.ts';
import { makeSecret } from '../secrets/secret.ts';
import type { Vault } from '../secrets/vault.ts';
import { TargetRefused, type EgressGuard } from '../sending/egress-guard.ts';
import { accept, bodyExaminer, bodyReader, type Examined } from './body.ts';
import { changeOf, dividesEvents } from './change.ts';
import { absent, endpointOf, json } from './handlers.ts';
import { testing, type TestDeliveryOptions } from './test-delivery.ts';

export interface EndpointsOptions extends TestDeliveryOptions {
  endpoints: Endpoints;
  vault: Vault;
  guard: EgressGuard;
  takeCutoff: TakeCutoff;
  held: Pick<Held, 'removeEndpoint'>;
  attemptLog: Pick<AttemptLog, 'append' | 'removeEndpoint'>;
  disabledEvents: Pick<DisabledEvents, 'announce'>;
  metrics: Pick<WebhookMetrics, 'disabledBy'>;
  revisions: Pick<Revisions, 'changed'>;
  tellChanged: (endpointId: string) => void;
  endpointsMax: number;
  log: Log;
}

export function endpointsHandlers(options: EndpointsOptions): Record<string, BusHandler> {
  return {
    [subjects.endpointsRegister]: registering(options),
    [subjects.endpointsGet]: async (request) => json(webhookOf(await endpointOf(options.endpoints, request))),
    [subjects.endpointsChange]: changing(options),
    [subjects.endpointsRotate]: rotating(options),
    [subjects.endpointsRemove]: removing(options),
    [subjects.endpointsTest]: testing(options),
  };
}

function registering({
  endpoints,
  revisions,
  vault,
  guard,
  takeCutoff,
  endpointsMax,
}: EndpointsOptions): BusHandler {
  const examine = bodyExaminer(RegisterWebhook);
  return async (request) => {
    const { body, integration } = request;
    const examined = examine(body);
    const { url, events } = accept(examined, await wrongUrlIn(guard, examined));
    if ((await endpoints.count(integration)) >= endpointsMax) throw tooMany(endpointsMax);
    const id = `wh_${randomBytes(16).toString('hex')}`;
    const secret = makeSecret();
    const { through, underWay } = await takeCutoff(request);
    const endpoint = newEndpoint({
      id,
      integration,
      url,
      events,
      secret: vault.seal(secret, id),
      eventsAfter: through,
      eventsUnderWay: underWay,
    });
    await endpoints.insert(endpoint);
    // Others may have registered at the same moment; then none of the last ones may stay, but never one too many.
    if ((await endpoints.count(integration)) > endpointsMax) {
      await endpoints.remove(integration, id);
      throw tooMany(endpointsMax);
    }
    await revisions.changed(integration);
    return {
      ...json(registeredWebhookOf(endpoint, secret), 201),
      headers: { location: `${basePath}/webhook-events/${id}` },
    };
  };
}

const tooMany = (max: number): Failure =>
  new Failure('conflict', `An integration may have ${max} webhooks; delete one first.`);

/** The target of the url, where it has the form of a url at all. */
async function wrongUrlIn(guard: EgressGuard, { given, errors }: Examined<unknown>): Promise<FailureEntry[]> {
  const pointer = '/url';
  const url: unknown = Reflect.get(given, 'url');
  if (typeof url !== 'string' || errors.some((entry) => entry.pointer === pointer)) return [];
  try {
    await guard(url);
    return [];
  } catch (error) {
    if (!(error instanceof TargetRefused)) throw error;
    return [{ pointer, detail: `url: ${error.message}` }];
  }
}

function changing(options: EndpointsOptions): BusHandler {
  const { endpoints, revisions, guard, takeCutoff, disabledEvents, metrics, tellChanged } = options;
  const examine = bodyExaminer(ChangeWebhook);
  return async (request) => {
    const examined = examine(request.body);
    const wanted = accept(examined, await wrongUrlIn(guard, examined));
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const cutoff = dividesEvents(wanted) ? await takeCutoff(request) : noCutoff;
      const change = changeOf(endpoint, wanted, cutoff, new Date());
      const changed = change === undefined ? endpoint : await endpoints.change(endpoint, change);
      // Another caller changed it meanwhile, or a failed delivery did.
      if (changed === null) continue;
      // Also where it is so already: the replica that changed it a moment ago may have died before it
      // announced that.
      await revisions.changed(changed.integration);
      tellChanged(changed._id);
      if (endpoint.active && !changed.active) {
        metrics.disabledBy('manual');
        disabledEvents.announce(changed);
      }
      return json(webhookOf(changed));
    }
  };
}

function rotating({ endpoints, revisions, vault, tellChanged }: EndpointsOptions): BusHandler {
  const read = bodyReader(RotateSecret, { optional: true });
  return async (request) => {
    const { gracePeriodSeconds = limits.gracePeriodSecondsDefault } = read(request.body);
    const secret = makeSecret();
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const expiresAt = gracePeriodSeconds === 0 ? null : new Date(Date.now() + gracePeriodSeconds * 1000);
      const serving = servingSecrets(endpoint, Date.now());
      if (expiresAt !== null && serving.length >= previousSecretsMax) throw tooManySecrets(serving);
      const previousSecrets = expiresAt === null ? [] : [{ sealed: endpoint.secret, expiresAt }, ...serving];
      const changed = await endpoints.change(endpoint, {
        $set: {
          secret: vault.seal(secret, endpoint._id),
          previousSecrets,
        },
        $inc: { version: 1 },
      });
      if (changed === null) continue;
      await revisions.changed(changed.integration);
      tellChanged(changed._id);
      return json({
        ...webhookOf(changed),
        secret,
        previousSecretExpiresAt: expiresAt?.toISOString() ?? null,
      });
    }
  };
}

/** No secret ends before its announced time, unless its owner asks for that. */
function tooManySecrets(serving: readonly PreviousSecret[]): Failure {
  const next = new Date(Math.min(...serving.map(({ expiresAt }) => expiresAt.getTime())));
  return new Failure(
    'conflict',
    `A webhook signs with at most ${previousSecretsMax + 1} secrets at once, and each of them is still in use: ` +
      `the next one expires at ${next.toISOString()}. ` +
      'Rotate after that, or with {"gracePeriodSeconds": 0}, which ends all previous ones at once.',
  );
}

const removing =
  ({ endpoints, revisions, held, attemptLog, tellChanged, log }: EndpointsOptions): BusHandler =>
  async (request) => {
    const id = request.headers.get(requestHeaders.id) ?? '';
    const removed = await endpoints.remove(request.integration, id);
    if (!removed && (await endpoints.find(id)) !== null) throw absent();
    // Also where it is gone already: the replica that deleted it a moment ago may have died before it
    // announced that.
    await revisions.changed(request.integration);
    tellChanged(id);
    if (!removed) throw absent();
    // From here on it is gone. The rest of it is of no use, and expires by itself.
    const tidied = await Promise.allSettled([held.removeEndpoint(id), attemptLog.removeEndpoint(id)]);
    for (const part of tidied) {
      if (part.status === 'rejected') log.warn({ err: part.reason, endpoint: id }, 'not tidied up');
    }
    return { status: 204 };
  };
