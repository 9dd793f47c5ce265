// Plain values of what webhooks works with, for tests of one part.
import type { StreamMessage } from '@integration-sync/runtime/bus';
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

/** As nats-server hands it out for the first time. Nothing becomes of it unless said. */
export const messageFor = (some: Partial<StreamMessage> = {}): StreamMessage => ({
  subject: 'deliveries.acme',
  id: 'one',
  headers: new Map(),
  body: new Uint8Array(),
  sequence: 1,
  deliveries: 1,
  storedAt: new Date(),
  ack: () => undefined,
  nak: () => undefined,
  working: () => undefined,
  term: () => undefined,
  ...some,
});
