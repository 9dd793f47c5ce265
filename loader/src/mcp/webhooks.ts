// Which webhooks are in trouble, and what their receivers answered.
import type { Client, DeliveryAttempt, DetailedWebhook, EventDelivery } from '@integration-sync/client';

type ReadingWebhooks = Pick<Client['webhooks'], 'list' | 'deliveries' | 'delivery'>;

/** All webhooks: the disabled ones, then the failing ones, then the others. */
export async function lookAtWebhooks(webhooks: ReadingWebhooks): Promise<DetailedWebhook[]> {
  const all: DetailedWebhook[] = [];
  for await (const webhook of webhooks.list()) all.push(webhook);
  return all.toSorted((one, other) => troubleOf(other) - troubleOf(one));
}

const troubleOf = ({ active, consecutiveFailures }: DetailedWebhook): number =>
  active ? consecutiveFailures : Number.MAX_SAFE_INTEGER;

export type AnsweredAttempt = DeliveryAttempt & { responseBody: string | null };

/** The failed attempts, newest first. One call to the service returns all attempts for an event and their answers. */
export async function* lookAtWebhook(
  webhooks: ReadingWebhooks,
  id: string,
): AsyncGenerator<AnsweredAttempt, void, undefined> {
  let last: EventDelivery | undefined;
  for await (const attempt of webhooks.deliveries(id, { outcome: 'failed' })) {
    const { eventId, event } = attempt;
    // A test delivery is in the attempt log, but has no event to read.
    if (event !== 'webhook.test' && last?.eventId !== eventId) last = await webhooks.delivery(id, eventId);
    const same = last?.eventId === eventId ? last.attempts.find(({ at }) => at === attempt.at) : undefined;
    yield { ...attempt, responseBody: same?.responseBody ?? null };
  }
}
