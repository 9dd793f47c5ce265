// Webhooks of an integration: registered, changed, tested and replayed.
import type { Send } from './call.ts';
import { pagesOf } from './listing.ts';
import type {
  ChangeWebhook,
  DeliveryAttempt,
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

export interface Webhooks {
  /** The answer alone has the secret. A broken connection is an error here: the webhook may be registered or not. */
  register(webhook: RegisterWebhook): Promise<RegisteredWebhook>;
  list(): AsyncGenerator<Webhook, void, undefined>;
  get(id: string): Promise<Webhook>;
  change(id: string, change: ChangeWebhook): Promise<Webhook>;
  remove(id: string): Promise<void>;
  rotateSecret(id: string, how?: RotateSecret): Promise<RotatedWebhook>;
  test(id: string): Promise<TestResult>;
  /** The attempt log, newest first. */
  deliveries(id: string, query?: DeliveryQuery): AsyncGenerator<DeliveryAttempt, void, undefined>;
  replay(id: string, span: ReplayEvents): Promise<ReplayAnswer>;
}

const at = (id: string, rest = ''): string => `webhook-events/${encodeURIComponent(id)}${rest}`;

export function openWebhooks(send: Send): Webhooks {
  const post = async <Answer>(path: string, body?: object): Promise<Answer> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return JSON.parse((await send({ method: 'POST', path, once: true, ...sent })).text);
  };
  async function* entities<Entity>(path: string, query: object): AsyncGenerator<Entity, void, undefined> {
    for await (const page of pagesOf<Entity>(send, path, { ...query }, undefined)) yield* page.entities;
  }

  return {
    register: (webhook) => post('webhook-events', webhook),
    list: () => entities('webhook-events', {}),
    get: async (id) => JSON.parse((await send({ method: 'GET', path: at(id) })).text),
    change: async (id, change) =>
      JSON.parse((await send({ method: 'PATCH', path: at(id), body: JSON.stringify(change) })).text),
    async remove(id) {
      await send({ method: 'DELETE', path: at(id) });
    },
    rotateSecret: (id, how = {}) => post(at(id, '/rotate-secret'), how),
    test: (id) => post(at(id, '/test')),
    deliveries: (id, query = {}) => entities(at(id, '/deliveries'), query),
    replay: (id, span) => post(at(id, '/replay'), span),
  };
}
