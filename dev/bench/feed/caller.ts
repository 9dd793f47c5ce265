// Shared by the benchmarks of the event feed: their stack, and functions that read the feed and push.
import type { Bus } from '@integration-sync/runtime/bus';
import type { Stack } from '../../stack/index.ts';

export interface Page {
  events: { id: string; event: string }[];
  next: string;
  more: boolean;
}

export interface House {
  stack: Stack;
  bus: Bus;
}

export const base = '/api/v1/integration';

const tokens = new Map<string, string>();

/** Each integration's token is made once and kept, as a caller keeps its token for an hour. */
export function headersOf({ stack }: House, integration: string) {
  const key = `${stack.gateway} ${integration}`;
  const token = tokens.get(key) ?? stack.token({ integration });
  tokens.set(key, token);
  return { authorization: `Bearer ${token}` };
}

export async function askFeed(
  house: House,
  integration: string,
  query: Record<string, string>,
): Promise<Page> {
  const search = new URLSearchParams(query).toString();
  const answer = await fetch(`${house.stack.gateway}${base}/events?${search}`, {
    headers: headersOf(house, integration),
  });
  if (answer.status !== 200)
    throw new Error(`GET /events was answered ${answer.status} ${await answer.text()}`);
  const page: Page = JSON.parse(await answer.text());
  return page;
}

export const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))] ?? Number.NaN;

export const inMs = (values: readonly number[]): string =>
  `p50 ${quantile(values, 0.5).toFixed(1)} ms, p99 ${quantile(values, 0.99).toFixed(1)} ms, most ${Math.max(...values).toFixed(1)} ms`;

export async function push(house: House, integration: string, from: number, count: number): Promise<string> {
  const suppliers = Array.from({ length: count }, (_, index) => ({
    externalId: `S-${from + index}`,
    name: 'Supplier',
  }));
  const answer = await fetch(`${house.stack.gateway}${base}/suppliers`, {
    method: 'POST',
    headers: { ...headersOf(house, integration), 'content-type': 'application/json' },
    body: JSON.stringify({ suppliers }),
  });
  if (answer.status !== 200) throw new Error(`the push was answered ${answer.status}`);
  await answer.arrayBuffer();
  return answer.headers.get('x-sync-id') ?? '';
}

export const bodyOf = (integration: string, index: number, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    event: 'supplier.created',
    timestamp: new Date().toISOString(),
    integrationId: integration,
    data: { externalId: `S-${index}`, internalId: `sup_${index}`, ...more },
  });
