// Plain values of what webhooks works with, for tests of one part.
import { newEndpoint, type Endpoint } from '../../services/webhooks/src/endpoints/endpoint.ts';
import type { Delivery } from '../../services/webhooks/src/streams/messages.ts';

/** Has succeeded before. */
export const openEndpoint = (id: string): Endpoint => ({
  ...newEndpoint({
    id,
    integration: 'acme',
    url: 'https://acme.example/hook',
    events: ['supplier.created'],
    secret: 'sealed',
    eventsAfter: 0,
  }),
  open: true,
});

/** With no attempt yet. */
export const deliveryFor = (endpointId: string): Delivery => ({
  endpointId,
  epoch: 0,
  version: 1,
  eventId: 'one',
  sending: '0',
  attempts: 0,
  dueAtMs: 0,
  body: new Uint8Array(),
});
