// Registers, lists, changes, tests and replays the webhooks of an integration.
import type { Send } from './call.ts';
import { pagesOf } from './listing.ts';
import type {
  ChangeWebhook,
  DeliveryAttempt,
  DetailedWebhook,
  DrillResult,
  EventDelivery,
  RegisteredWebhook,
  RegisterWebhook,
  ReplayAnswer,
  ReplayEvents,
  RotatedWebhook,
  RotateSecret,
  TestResult,
  Webhook,
} from './types.ts';

export interface DeliveryQuery {
  outcome?: DeliveryAttempt['outcome'] | undefined;
  event?: string | undefined;
}

export interface WebhookQuery {
  details?: boolean | undefined;
}

export interface Webhooks {
  /**
   * Registers a webhook. Only the answers to a registration and to a rotation show the secret. Without `idempotencyKey`, the
   * call throws if the connection breaks, and the webhook may exist or not. With an `idempotencyKey` the call is repeated, and
   * the webhook is registered once.
   */
  register(webhook: RegisterWebhook, idempotencyKey?: string): Promise<RegisteredWebhook>;
  /** Lists the webhooks. With `details`, each has its other settings besides url and events. */
  list(query?: WebhookQuery): AsyncGenerator<DetailedWebhook, void, undefined>;
  get(id: string, query?: WebhookQuery): Promise<DetailedWebhook>;
  change(id: string, change: ChangeWebhook): Promise<Webhook>;
  remove(id: string): Promise<void>;
  rotateSecret(id: string, how?: RotateSecret): Promise<RotatedWebhook>;
  test(id: string): Promise<TestResult>;
  /**
   * Sends a receiver valid and forged deliveries, to check its answers. Takes up to 30 s, and is allowed once a minute for each
   * webhook.
   */
  drill(id: string): Promise<DrillResult>;
  /** The attempts in the webhook's attempt log, newest first. */
  deliveries(id: string, query?: DeliveryQuery): AsyncGenerator<DeliveryAttempt, void, undefined>;
  /** The body that was sent for one event, and the answers of the receiver. */
  delivery(id: string, eventId: string): Promise<EventDelivery>;
  replay(id: string, what: ReplayEvents): Promise<ReplayAnswer>;
}

const at = (id: string, rest = ''): string => `webhook-events/${encodeURIComponent(id)}${rest}`;

export function openWebhooks(send: Send): Webhooks {
  const post = async <Answer>(path: string, body?: object): Promise<Answer> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await send<Answer>({ method: 'POST', path, once: true, ...sent })).body;
  };
  const read = async <Answer>(path: string): Promise<Answer> =>
    (await send<Answer>({ method: 'GET', path })).body;
  async function* entities<Entity>(path: string, query: object): AsyncGenerator<Entity, void, undefined> {
    for await (const page of pagesOf<Entity>(send, path, { ...query }, undefined)) yield* page.entities;
  }

  return {
    register: async (webhook, key) => {
      if (key === undefined) return post('webhook-events', webhook);
      const headers = { 'idempotency-key': key };
      const body = JSON.stringify(webhook);
      return (await send<RegisteredWebhook>({ method: 'POST', path: 'webhook-events', headers, body })).body;
    },
    list: (query = {}) => entities('webhook-events', query),
    get: (id, { details } = {}) => read(at(id, details === true ? '?details=true' : '')),
    change: async (id, change) =>
      (await send<Webhook>({ method: 'PATCH', path: at(id), body: JSON.stringify(change) })).body,
    async remove(id) {
      await send({ method: 'DELETE', path: at(id) });
    },
    rotateSecret: (id, how = {}) => post(at(id, '/rotate-secret'), how),
    test: (id) => post(at(id, '/test')),
    drill: (id) => post(at(id, '/drill')),
    deliveries: (id, query = {}) => entities(at(id, '/deliveries'), query),
    delivery: (id, eventId) => read(at(id, `/deliveries/${encodeURIComponent(eventId)}`)),
    replay: (id, what) => post(at(id, '/replay'), what),
  };
}
