// What callers do with one of their endpoints: read, change, rotate, test and delete it. Registering is in register.ts, listing
// in endpoint-listing.ts. How an endpoint is shown: handlers.ts, and endpoints/endpoint.ts.
import { randomUUID } from 'node:crypto';
import {
  ChangeWebhook,
  Failure,
  type FailureEntry,
  limits,
  refuseIfAny,
  requestHeaders,
  RotateSecret,
  subjects,
  testKind,
} from '@integration-sync/contracts';
import { queryOf, type BusHandler } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { type AttemptLog, entryOf } from '../delivering/attempt-log.ts';
import type { Changed } from '../delivering/broadcasts.ts';
import type { EndpointCache } from '../endpoints/cache.ts';
import type { DisabledEvents } from '../endpoints/disabled-events.ts';
import {
  type Endpoint,
  type PreviousSecret,
  previousSecretsMax,
  servingSecrets,
  webhookOf,
} from '../endpoints/endpoint.ts';
import { noCutoff } from '../matching/cutoff.ts';
import type { WebhookMetrics } from '../metrics.ts';
import type { Signable } from '../sending/headers.ts';
import { makeSecret } from '../secrets/signing-secret.ts';
import type { Attempted, Send } from '../sending/send.ts';
import { accept, bodyExaminer, bodyReader } from './body.ts';
import { changeOf, dividesEvents } from './change.ts';
import { absent, endpointOf, json, showingOf } from './handlers.ts';
import { registering, type RegisterOptions } from './register.ts';
import { settingsOf, wrongIn } from './settings.ts';

interface EndpointsOptions extends RegisterOptions {
  attemptLog: Pick<AttemptLog, 'removeEndpoint'>;
  disabledEvents: Pick<DisabledEvents, 'announce'>;
  metrics: Pick<WebhookMetrics, 'disabledBy'>;
  changed: Changed;
  test: Test;
  log: Log;
}

export function endpointsHandlers(options: EndpointsOptions): Record<string, BusHandler> {
  return {
    [subjects.endpointsRegister]: registering(options),
    [subjects.endpointsGet]: async (request) => {
      const errors: FailureEntry[] = [];
      const shown = showingOf(queryOf(request), errors);
      refuseIfAny(errors);
      return json(shown(await endpointOf(options.endpoints, request)));
    },
    [subjects.endpointsChange]: changing(options),
    [subjects.endpointsRotate]: rotating(options),
    [subjects.endpointsRemove]: removing(options),
    [subjects.endpointsTest]: testing(options),
  };
}

function changing(options: EndpointsOptions): BusHandler {
  const { endpoints, vault, guard, takeCutoff, disabledEvents, metrics, changed } = options;
  const examine = bodyExaminer(ChangeWebhook);
  return async (request) => {
    const examined = examine(request);
    const wanted = accept(examined, await wrongIn(guard, examined));
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const cutoff = dividesEvents(wanted) ? await takeCutoff(request) : noCutoff;
      const settings = settingsOf(wanted, vault, endpoint._id);
      const change = changeOf(endpoint, wanted, { settings, cutoff, now: new Date() });
      const after = change === undefined ? endpoint : await endpoints.change(endpoint, change);
      // Another caller or a failed delivery has changed the endpoint meanwhile.
      if (after === null) continue;
      // Broadcast even if MongoDB had the change already: the replica that stored it may have died before its broadcast.
      await changed(after);
      if (endpoint.active && !after.active) {
        metrics.disabledBy('manual');
        disabledEvents.announce(after);
      }
      return json(webhookOf(after));
    }
  };
}

const removing =
  ({ endpoints, attemptLog, changed, log }: EndpointsOptions): BusHandler =>
  async ({ integration, headers }) => {
    const id = headers.get(requestHeaders.id) ?? '';
    const removed = await endpoints.remove(integration, id);
    if (!removed && (await endpoints.find(id)) !== null) throw absent();
    // Broadcast even if the endpoint was deleted already: the replica that deleted it may have died before its broadcast.
    await changed({ _id: id, integration });
    if (!removed) throw absent();
    // The request succeeds even if the purge fails: the attempt log of a deleted endpoint expires by itself.
    try {
      await attemptLog.removeEndpoint(id);
    } catch (error) {
      log.warn({ err: error, endpoint: id }, 'the attempt log of a deleted endpoint is not removed');
    }
    return {};
  };

/** The previous secrets go on signing beside the new secret until their grace period ends. */
function rotating({ endpoints, vault, changed }: EndpointsOptions): BusHandler {
  const read = bodyReader(RotateSecret, { optional: true });
  return async (request) => {
    const { gracePeriodSeconds = limits.gracePeriodSecondsDefault } = read(request);
    const secret = makeSecret();
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const expiresAt = gracePeriodSeconds === 0 ? null : new Date(Date.now() + gracePeriodSeconds * 1000);
      const serving = servingSecrets(endpoint, Date.now());
      if (expiresAt !== null && serving.length >= previousSecretsMax) throw tooManySecrets(serving);
      const previousSecrets = expiresAt === null ? [] : [{ sealed: endpoint.secret, expiresAt }, ...serving];
      const after = await endpoints.change(endpoint, {
        $set: { secret: vault.seal(secret, endpoint._id), previousSecrets, isRotated: true },
        $inc: { version: 1 },
      });
      if (after === null) continue;
      await changed(after);
      const previousSecretExpiresAt = expiresAt?.toISOString() ?? null;
      return json({ ...webhookOf(after), secret, previousSecretExpiresAt });
    }
  };
}

/** No secret ends before its announced time, unless the caller asks for that. */
function tooManySecrets(serving: readonly PreviousSecret[]): Failure {
  const next = new Date(Math.min(...serving.map(({ expiresAt }) => expiresAt.getTime())));
  return new Failure(
    'conflict',
    `A webhook signs with at most ${previousSecretsMax + 1} secrets at once, and each of them is still in use: ` +
      `the next one expires at ${next.toISOString()}. ` +
      'Rotate after that, or with {"gracePeriodSeconds": 0}, which ends all previous ones at once.',
  );
}

/** Each test may take the receiver's ten seconds; 45 tests of one integration leave room for tests of others. */
const testLimits = { max: 64, share: { timesFree: 3, kept: 4 } };

export type Test = (endpoint: Endpoint, traceparent?: string) => Promise<Attempted>;

/** A test is a single attempt, even if it fails. The attempt log has an entry of the test. */
export const openTest =
  (cache: Pick<EndpointCache, 'prepare'>, attemptLog: Pick<AttemptLog, 'append'>, send: Send): Test =>
  async (endpoint, traceparent) => {
    const test = testOf(endpoint);
    const attempted = await send(cache.prepare(endpoint), { ...test, attempt: 1, traceparent });
    attemptLog.append(endpoint._id, entryOf({ ...test, attempt: 1 }, attempted, null));
    return attempted;
  };

/** Sends a test to the receiver, and answers with the receiver's answer. */
function testing({ endpoints, test }: EndpointsOptions): BusHandler {
  const semaphore = openSemaphore(testLimits);
  return async (request) => {
    const { integration } = request;
    const endpoint = await endpointOf(endpoints, request);
    if (!semaphore.mayTake(integration)) {
      throw new Failure('unavailable', 'Too many tests are under way.', { retryAfterSeconds: 2 });
    }
    semaphore.take(integration);
    try {
      const { verdict, responseStatus, durationMs, error } = await test(endpoint, request.traceparent);
      return json({ delivered: verdict === 'succeeded', responseStatus, durationMs, error });
    } finally {
      semaphore.release(integration);
    }
  };
}

function testOf({ _id, integration }: Endpoint): Signable {
  const event = testKind;
  const timestamp = new Date().toISOString();
  const body = { event, timestamp, integrationId: integration, data: { webhookId: _id } };
  return { eventId: `test-${randomUUID()}`, event, timestamp, body: Buffer.from(JSON.stringify(body)) };
}
