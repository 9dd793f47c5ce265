// The deliveries that receivers got, beside the events on the stream EVENTS.
import { attemptDelaysMs, testKind } from '@integration-sync/contracts';
import { openDescribed } from '../described.ts';
import type { DeliveryLine, EndpointLine, EventLine } from '../lines.ts';
import { isTaken, nameOf, type Check } from './facts.ts';
import { seconds } from './times.ts';

/** Behaviours of receivers whose events may be given up. Faults do not break four deliveries in a row to any other receiver. */
const mayGiveUp = new Set(['flaky', 'dead', 'hostile', 'recovering']);

export const checkDeliveries: Check = (
  { endpoints, deliveries, hitsOf, givenUp, events, eventById, isOmitted },
  report,
) => {
  for (const { genuine, endpoint, event, drill } of deliveries)
    if (!genuine && !drill) report('delivery-false', `${endpoint}: ${event} has a wrong signature`);
  const byEndpoint = Map.groupBy(deliveries, (hit) => hit.endpoint);
  const givenUpNames = new Set(givenUp.map(nameOf));
  for (const of of endpoints) {
    const { endpoint, behaviour } = of;
    const hits = byEndpoint.get(endpoint) ?? [];
    for (const hit of hits.filter(({ kind }) => kind !== testKind)) {
      const fault = faultOf(hit, eventById.get(hit.event), of);
      if (fault !== undefined) report('delivery-false', `${behaviour} ${endpoint}: ${hit.event} ${fault}`);
    }
    for (const event of events.filter((one) => isMeantFor(one, of))) {
      const key = nameOf({ endpoint, event: event.id });
      const tried = hitsOf.get(key) ?? [];
      if (tried.some(isTaken) || isOmitted(event)) continue;
      // The log entry of the fourth attempt may be lost with its replica, so four hits at the receiver count as given up.
      const isGivenUp = givenUpNames.has(key) || tried.length >= attemptDelaysMs.length;
      if (mayGiveUp.has(behaviour) && isGivenUp) continue;
      const name = `${event.id} (${event.body.event}, ${event.body.timestamp})`;
      const answers = tried.map(({ status }) => status).join() || 'nothing';
      report('delivery-missing', `${name} never came to ${behaviour} ${endpoint}; it answered ${answers}`);
    }
  }
};

export function isMeantFor({ body }: Pick<EventLine, 'body'>, endpoint: EndpointLine): boolean {
  if (body.integrationId !== endpoint.integration || !endpoint.events.includes(body.event)) return false;
  // `webhook.disabled` goes only to the integration's other endpoints.
  return !('webhookId' in body.data) || body.data.webhookId !== endpoint.endpoint;
}

function faultOf(hit: DeliveryLine, event: EventLine | undefined, of: EndpointLine): string | undefined {
  if (event === undefined) return 'does not stand on the stream';
  if (!isMeantFor(event, of)) return 'is not meant for it';
  if (hit.kind !== event.body.event) return `says that it is ${hit.kind}`;
  return hit.bodyHash === event.bodyHash ? undefined : 'has another body than on the stream';
}

/** A narrow endpoint has one delivery under way at a time, whatever replica sends it. */
export const checkInFlight: Check = ({ endpoints, deliveries }, report) => {
  for (const { endpoint } of endpoints.filter(({ behaviour }) => behaviour === 'narrow')) {
    // A delivery whose sender had died may overlap the next delivery.
    const own = deliveries.filter((hit) => hit.endpoint === endpoint && hit.status > 0);
    const inOrder = own.toSorted((one, other) => one.begunMs - other.begunMs);
    for (const [nth, { event, begunMs }] of inOrder.entries()) {
      const before = inOrder[nth - 1];
      if (before === undefined || before.atMs <= begunMs) continue;
      const meanwhile = `while it had ${before.event} until ${seconds(before.atMs)}`;
      report('in-flight', `${endpoint} was sent ${event} at ${seconds(begunMs)}, ${meanwhile}`);
    }
  }
};

const described = openDescribed();

/** Checks each event and delivery by its description in docs/asyncapi.json. */
export const checkDescribed: Check = ({ events, deliveries }, report) => {
  for (const event of events) {
    const fault = described.faultOfEvent(event);
    if (fault !== undefined) report('undescribed', `${event.id} on the stream: ${fault}`);
  }
  for (const { endpoint, event, undescribed } of deliveries)
    if (undescribed !== undefined) report('undescribed', `${event} to ${endpoint}: ${undescribed}`);
};
