// What callers do with one of their endpoints: read, change and delete it. How a webhook is shown: webhook-details.ts.
import { ChangeWebhook, queryErrorsOf, refuseIfAny, subjects } from '@integration-sync/contracts';
import { queryOf, refuseGivenUp, type BusHandler } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { AttemptLog } from '../delivering/attempt-log.ts';
import type { Changed } from '../delivering/endpoint-changes.ts';
import type { DisabledEvents } from '../endpoints/disabled-events.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import { noCutoff } from '../matching/cutoff.ts';
import type { WebhookMetrics } from '../metrics.ts';
import { accept, bodyExaminer } from './request-body.ts';
import { changeOf, dividesEvents, droppedHeaders } from './change.ts';
import { drilling, type Drill } from './drill.ts';
import { absent, endpointIdOf, endpointOf, json } from './handlers.ts';
import { registering, type RegisterOptions } from './register.ts';
import { rotating } from './rotate-secret.ts';
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
      await refuseGivenUp(request);
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
    await refuseGivenUp(request);
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
