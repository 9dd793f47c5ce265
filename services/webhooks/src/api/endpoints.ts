// What callers do with their endpoints. Registering, rotating and testing have files of their own; here they are read,
// changed and deleted. Listing them is in listing.ts.
import {
  ChangeWebhook,
  refuseIfAny,
  requestHeaders,
  subjects,
  type FailureEntry,
} from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { AttemptLog } from '../delivering/attempt-log.ts';
import type { DisabledEvents } from '../endpoints/disabled-events.ts';
import { webhookOf } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { noCutoff } from '../matching/cutoff.ts';
import type { WebhookMetrics } from '../metrics.ts';
import { accept, bodyExaminer } from './body.ts';
import { changeOf, dividesEvents } from './change.ts';
import { absent, endpointOf, json, showingOf } from './handlers.ts';
import { registering, type RegisterOptions } from './register.ts';
import { rotating, type RotateOptions } from './rotate.ts';
import { testing, type TestDeliveryOptions } from './test-delivery.ts';
import { settingsOf } from './settings.ts';
import { wrongIn } from './wrong-url.ts';

export interface EndpointsOptions extends TestDeliveryOptions, RegisterOptions, RotateOptions {
  endpoints: Endpoints;
  attemptLog: Pick<AttemptLog, 'append' | 'removeEndpoint'>;
  disabledEvents: Pick<DisabledEvents, 'announce'>;
  metrics: Pick<WebhookMetrics, 'disabledBy'>;
  log: Log;
}

export function endpointsHandlers(options: EndpointsOptions): Record<string, BusHandler> {
  return {
    [subjects.endpointsRegister]: registering(options),
    [subjects.endpointsGet]: async (request) => {
      const errors: FailureEntry[] = [];
      const shown = showingOf(request, errors);
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
  const { endpoints, revisions, vault, guard, takeCutoff, disabledEvents, metrics, tellChanged } = options;
  const examine = bodyExaminer(ChangeWebhook);
  return async (request) => {
    const examined = examine(request);
    const wanted = accept(examined, await wrongIn(guard, examined));
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const cutoff = dividesEvents(wanted) ? await takeCutoff(request) : noCutoff;
      const settings = settingsOf(wanted, vault, endpoint._id);
      const change = changeOf(endpoint, wanted, { settings, cutoff, now: new Date() });
      const changed = change === undefined ? endpoint : await endpoints.change(endpoint, change);
      // Another caller changed it meanwhile, or a failed delivery did.
      if (changed === null) continue;
      // Also where it is so already: the replica that changed it a moment ago may have died before it
      // announced that.
      await revisions.changed(changed.integration);
      tellChanged(changed);
      if (endpoint.active && !changed.active) {
        metrics.disabledBy('manual');
        disabledEvents.announce(changed);
      }
      return json(webhookOf(changed));
    }
  };
}

const removing =
  ({ endpoints, revisions, attemptLog, tellChanged, log }: EndpointsOptions): BusHandler =>
  async (request) => {
    const id = request.headers.get(requestHeaders.id) ?? '';
    const removed = await endpoints.remove(request.integration, id);
    if (!removed && (await endpoints.find(id)) !== null) throw absent();
    // Also where it is gone already: the replica that deleted it a moment ago may have died before it
    // announced that.
    await revisions.changed(request.integration);
    tellChanged({ _id: id, integration: request.integration });
    if (!removed) throw absent();
    // From here on it is gone. The rest of it is of no use, and expires by itself.
    try {
      await attemptLog.removeEndpoint(id);
    } catch (error) {
      log.warn({ err: error, endpoint: id }, 'the attempt log of a deleted endpoint is left');
    }
    return {};
  };
