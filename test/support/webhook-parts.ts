// Plain values of what webhooks works with, for tests of one part.
import { newEndpoint, type Endpoint } from '../../services/webhooks/src/endpoints/endpoint.ts';

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
