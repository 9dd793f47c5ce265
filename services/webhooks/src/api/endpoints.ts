// What callers do with one of their endpoints: read, change, rotate and delete it. How a webhook is shown: webhook-details.ts.
import {
  ChangeWebhook,
  Failure,
  limits,
  queryErrorsOf,
  refuseIfAny,
  RotateSecret,
  subjects,
} from '@integration-sync/contracts';
import { queryOf, type BusHandler } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { AttemptLog } from '../delivering/attempt-log.ts';
import type { Changed } from '../delivering/endpoint-changes.ts';
import type { DisabledEvents } from '../endpoints/disabled-events.ts';
import { type PreviousSecret, previousSecretsMax, servingSecrets } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import { noCutoff } from '../matching/cutoff.ts';
import type { WebhookMetrics } from '../metrics.ts';
import { makeSecret } from '../secrets/signing-secret.ts';
import { keyIdOf } from '../secrets/vault.ts';
import { accept, bodyExaminer } from './request-body.ts';
import { changeOf, dividesEvents, droppedHeaders } from './change.ts';
import { drilling, type Drill } from './drill.ts';
import { absent, endpointIdOf, endpointOf, json } from './handlers.ts';
import { registering, type RegisterOptions } from './register.ts';
import { settingsOf, wrongIn } from './webhook-settings.ts';
import { testing, type Test } from './test-delivery.ts';
import { showingOf, webhookOf } from './webhook-details.ts';

interface EndpointsOptions extends RegisterOptions {
  endpoints: Endpoints;
  attemptLog: Pick<AttemptLog, 'forgetAnswers' | 'removeEndpoint'>;
  disabledEvents: Pick<DisabledEvents, 'announce'>;
  metrics: Pick<WebhookMetrics, 'disabledBy'>;
  changed: Changed;
  test: Test;
  drill: Drill;
  log: Log;
}

export function endpointsHandlers(options: EndpointsOptions): Record<string, BusHandler> {
  return {
    [subjects.endpointsRegister]: registering(options),
    [subjects.endpointsGet]: async (request) => {
      const errors = queryErrorsOf(request);
      const shown = showingOf(queryOf(request), errors);
      refuseIfAny(errors);
      return json(shown(await endpointOf(options.endpoints, request)));
    },
    [subjects.endpointsChange]: changing(options),
    [subjects.endpointsRotate]: rotating(options),
    [subjects.endpointsRemove]: removing(options),
    [subjects.endpointsTest]: testing(options),
    [subjects.endpointsDrill]: drilling(options),
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
      const dropped = droppedHeaders(endpoint, wanted);
      const given = dropped.length === 0 ? wanted : { ...wanted, headers: null };
      const settings = settingsOf(given, vault, endpoint._id);
      const change = changeOf(endpoint, wanted, { settings, cutoff, now: new Date() });
      const after = change === undefined ? endpoint : await endpoints.change(endpoint, change);
      if (after === null) continue;
      // A change that MongoDB had already is broadcast too: the replica that stored it may have died before its broadcast.
      await changed(after);
      if (endpoint.active && !after.active) {
        metrics.disabledBy('manual');
        disabledEvents.announce();
      }
      return {
        ...json(webhookOf(after)),
        ...(dropped.length === 0 ? {} : { headers: { 'x-dropped-headers': dropped.join(', ') } }),
      };
    }
  };
}

const idForm = /^wh_[\da-f]{32}$/;

const removing =
  ({ endpoints, registrations, attemptLog, changed, log }: EndpointsOptions): BusHandler =>
  async (request) => {
    const { integration } = request;
    const id = endpointIdOf(request);
    const found = await endpoints.findOf(integration, id);
    // The answers are removed before the endpoint: if this replica dies meanwhile, an erasing still finds the endpoint and its answers.
    if (found !== null) await attemptLog.forgetAnswers([id]);
    // Otherwise a repeated registration would store the deleted endpoint again, if the replica of the first one died.
    if (found?.registration !== undefined) await registrations.finish(found.registration, id);
    const removed = await endpoints.remove(integration, id);
    // A text that is no id could be a wildcard of NATS, or name the answers of an endpoint that exists.
    if (!removed && (!idForm.test(id) || (await endpoints.find(id)) !== null)) throw absent();
    // The next steps follow an earlier deletion too: the replica that deleted the endpoint may have died before them.
    await changed({ _id: id, integration });
    // The request succeeds even if this purge fails: the attempt log of a deleted endpoint expires by itself.
    try {
      await attemptLog.removeEndpoint(id);
    } catch (error) {
      log.warn({ err: error, endpoint: id }, 'a deleted endpoint’s attempt log stays until it expires');
    }
    if (!removed) throw absent();
    return {};
  };

function rotating({ endpoints, vault, changed }: EndpointsOptions): BusHandler {
  const examine = bodyExaminer(RotateSecret, { optional: true });
  return async (request) => {
    const { gracePeriodSeconds = limits.gracePeriodSecondsDefault } = accept(examine(request));
    const secret = makeSecret();
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const expiresAt = gracePeriodSeconds === 0 ? null : new Date(Date.now() + gracePeriodSeconds * 1000);
      const serving = servingSecrets(endpoint, Date.now());
      if (expiresAt !== null && serving.length >= previousSecretsMax) throw tooManySecrets(serving);
      const before = expiresAt === null ? [] : [{ sealed: endpoint.secret, expiresAt }, ...serving];
      const previousSecrets = before.filter(({ sealed }) => !vault.lostIds.includes(keyIdOf(sealed)));
      const after = await endpoints.change(endpoint, {
        $set: { secret: vault.seal(secret, endpoint._id), previousSecrets, isRotated: true },
        $inc: { version: 1 },
      });
      if (after === null) continue;
      await changed(after);
      const former = previousSecrets.find(({ sealed }) => sealed === endpoint.secret);
      const previousSecretExpiresAt = former?.expiresAt.toISOString() ?? null;
      return json({ ...webhookOf(after), secret, previousSecretExpiresAt });
    }
  };
}

/** Refuses a rotation: no former secret ends before its announced time, unless the caller asks for an earlier end. */
function tooManySecrets(serving: readonly PreviousSecret[]): Failure {
  const next = new Date(Math.min(...serving.map(({ expiresAt }) => expiresAt.getTime())));
  return new Failure(
    'conflict',
    `A webhook signs with at most ${previousSecretsMax + 1} secrets at a time, and each of them is still in use: ` +
      `the next one expires at ${next.toISOString()}. ` +
      'Rotate after that, or with {"gracePeriodSeconds": 0}, which ends all previous secrets immediately.',
  );
}
