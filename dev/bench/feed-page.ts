// Reads a page of the event feed.
import { basePath } from '@integration-sync/contracts';
import type { Client } from './client.ts';

export interface Page {
  events: { id: string; event: string }[];
  next: string;
  more: boolean;
}

export async function askFeed(client: Client, query: Record<string, string>): Promise<Page> {
  const { body } = await client.get(`${basePath}/events?${new URLSearchParams(query).toString()}`);
  const page: Page = JSON.parse(body);
  return page;
}
