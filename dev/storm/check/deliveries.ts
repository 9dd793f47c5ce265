// Checks the deliveries that receivers got against the events on the stream EVENTS.
import { attemptDelaysMs, testKind } from '@integration-sync/contracts';
import type { DeliveryLine, EndpointLine, EventLine, GivenUpLine } from '../lines.ts';
import type { Report } from './violations.ts';

export interface Delivered {
  endpoints: readonly EndpointLine[];
  deliveries: readonly DeliveryLine[];
  givenUp: readonly GivenUpLine[];
  events: readonly EventLine[];
}

/**
 * A fault may break a delivery to a healthy receiver when it kills or freezes the sender, but not four times
 * in a row.
 */
const mayGiveUp = new Set(['flaky', 'dead', 'hostile', 'recovering']);

export function checkDeliveries({ endpoints, deliveries, givenUp, events }: Delivered, report: Report): void {
  const eventById = new Map(events.map((event) => [event.id, event]));
  const byEndpoint = Map.groupBy(deliveries, ({ endpoint }) => endpoint);
  const givenUpBy = Map.groupBy(givenUp, ({ endpoint }) => endpoint);
  for (const endpoint of endpoints) {
    const hits = byEndpoint.get(endpoint.endpoint) ?? [];
    for (const hit of hits.filter(({ kind }) => kind !== testKind)) {
      const fault = faultOf(hit, eventById.get(hit.event), endpoint);
      if (fault !== undefined) {
        report({
          class: 'delivery-false',
          what: `${endpoint.behaviour} ${endpoint.endpoint}: ${hit.event} ${fault}`,
        });
      }
    }
    const taken = new Set(
      hits.filter(({ status }) => status >= 200 && status < 300).map(({ event }) => event),
    );
    const left = mayGiveUp.has(endpoint.behaviour)
      ? new Set(givenUpBy.get(endpoint.endpoint)?.map(({ event }) => event))
      : new Set<string>();
    for (const event of events) {
      if (!isMeantFor(event, endpoint) || taken.has(event.id) || left.has(event.id)) continue;
      const tried = hits.filter((hit) => hit.event === event.id).map(({ status }) => status);
      // The log entry of the fourth attempt may be lost with its replica, so four hits at the receiver count as given
      // up.
      if (mayGiveUp.has(endpoint.behaviour) && tried.length >= attemptDelaysMs.length) continue;
      const what = `${event.id} (${event.body.event}, ${event.body.timestamp}) never came to ${endpoint.behaviour} ${endpoint.endpoint}; it answered ${tried.join() || 'nothing'}`;
      report({ class: 'delivery-missing', what });
    }
  }
}

export function isMeantFor({ body }: Pick<EventLine, 'body'>, endpoint: EndpointLine): boolean {
  if (body.integrationId !== endpoint.integration || !endpoint.events.includes(body.event)) return false;
  // `webhook.disabled` goes only to the integration's other endpoints.
  return !('webhookId' in body.data) || body.data.webhookId !== endpoint.endpoint;
}

function faultOf(
  hit: DeliveryLine,
  event: EventLine | undefined,
  endpoint: EndpointLine,
): string | undefined {
  if (!hit.genuine) return 'has a wrong signature';
  if (event === undefined) return 'does not stand on the stream';
  if (!isMeantFor(event, endpoint)) return 'is not meant for it';
  if (hit.kind !== event.body.event) return `says that it is ${hit.kind}`;
  return hit.bodyHash === event.bodyHash ? undefined : 'has another body than on the stream';
}
