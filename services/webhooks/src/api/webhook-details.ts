// A webhook as callers see it: the contract's shape, and with `details=true` its settings too. No answer contains the values of
// headers, and only the answers to a registration and to a rotation contain the secret.
import {
  readOneOf,
  type DetailedWebhook,
  type FailureEntry,
  type RegisteredWebhook,
  type Webhook,
} from '@integration-sync/contracts';
import { type Endpoint, inFlightMaxOf } from '../endpoints/endpoint.ts';

export function showingOf(
  query: URLSearchParams,
  errors: FailureEntry[],
): (endpoint: Endpoint) => DetailedWebhook {
  const details = readOneOf(query, 'details', ['true', 'false'], errors);
  return details === 'true' ? detailedWebhookOf : webhookOf;
}

export const webhookOf = (endpoint: Endpoint): Webhook => ({
  id: endpoint._id,
  url: endpoint.url,
  events: endpoint.events,
  active: endpoint.active,
  createdAt: endpoint.createdAt.toISOString(),
  disabledAt: endpoint.disabledAt?.toISOString() ?? null,
  disabledReason: endpoint.disabledReason,
  consecutiveFailures: endpoint.failures,
});

export const detailedWebhookOf = (endpoint: Endpoint): DetailedWebhook => ({
  ...webhookOf(endpoint),
  details: {
    description: endpoint.description ?? null,
    headerNames: endpoint.headerNames ?? [],
    recover: endpoint.recover ?? false,
    inFlightMax: inFlightMaxOf(endpoint),
  },
});

export function registeredWebhookOf(endpoint: Endpoint, secret: string): RegisteredWebhook {
  const { id, url, events, active, createdAt } = webhookOf(endpoint);
  return { id, url, events, active, secret, createdAt };
}
