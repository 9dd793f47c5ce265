// The event feed as a caller sees it, read over NATS in the way of the gateway.
import { randomUUID } from 'node:crypto';
import type { Bus } from '@integration-sync/runtime/bus';

export interface FedEvent {
  id: string;
  event: string;
  timestamp: string;
  integrationId: string;
  data: Record<string, unknown>;
}

export interface FeedPage {
  events: FedEvent[];
  next: string;
  more: boolean;
}

export type FeedQuery = Record<string, string | number | undefined>;

export async function askFeed(
  bus: Pick<Bus, 'request'>,
  integration: string,
  query: FeedQuery | string = {},
  signal?: AbortSignal,
): Promise<FeedPage> {
  const given = typeof query === 'string' ? query : queryOf(query);
  const reply = await bus.request('svc.webhooks.events.read', {
    headers: { integration, 'request-id': randomUUID(), query: given },
    timeoutMs: 35_000,
    repeatable: true,
    ...(signal === undefined ? {} : { signal }),
  });
  return JSON.parse(Buffer.from(reply.body).toString()) as FeedPage;
}

const queryOf = (query: FeedQuery): string =>
  new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  ).toString();

export const idsOf = ({ events }: FeedPage): string[] => events.map(({ id }) => id);

/** Reads all pages from the place that the query names, until a page has `more: false`. */
export async function readAll(
  ask: (query: FeedQuery) => Promise<FeedPage>,
  query: FeedQuery,
): Promise<{ ids: string[]; pages: number; next: string }> {
  const ids: string[] = [];
  for (let pages = 1, asked = query; ; pages += 1) {
    const page = await ask(asked);
    ids.push(...idsOf(page));
    if (!page.more) return { ids, pages, next: page.next };
    const { since: _since, ...rest } = asked;
    asked = { ...rest, after: page.next };
  }
}
