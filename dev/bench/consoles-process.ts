// Asks what open consoles ask, until it is ended: each page at its rhythm, and one call of each person that waits for events.
//
//   half of them       the overview         every 10 s
//   three tenths       one webhook           every 5 s
//   the others         runs, webhooks       every 10 s
import { setTimeout as wait } from 'node:timers/promises';
import { basePath } from '@integration-sync/contracts';
import { openClient } from './client.ts';

const [gateway = '', token = '', count = '0'] = process.argv.slice(2);
const consoles = Number(count);
const client = openClient(gateway, token);
const get = async (path: string): Promise<string> => (await client.get(path)).body;
const of = (path: string): string => `${basePath}${path}`;
const { entities }: { entities: { id: string }[] } = JSON.parse(await get(of('/webhook-events?limit=1')));
const webhook = entities[0]?.id ?? '';

const overview = [
  of('/sync-runs?limit=100'),
  of('/sync-runs?failed=true&limit=5'),
  of('/webhook-events?limit=100'),
  '/readyz',
];
const oneWebhook = [
  of(`/webhook-events/${webhook}?details=true`),
  of(`/webhook-events/${webhook}/deliveries?limit=100`),
];
const lists = [[of('/sync-runs?limit=50')], [of('/webhook-events?limit=50')]];

const pageOf = (index: number): { paths: readonly string[]; everyMs: number } => {
  const share = index / consoles;
  if (share < 0.5) return { paths: overview, everyMs: 10_000 };
  if (share < 0.8) return { paths: oneWebhook, everyMs: 5_000 };
  return { paths: lists[index % lists.length] ?? [], everyMs: 10_000 };
};

async function showPage(index: number): Promise<void> {
  const { paths, everyMs } = pageOf(index);
  await wait((index / consoles) * everyMs);
  for (;;) {
    await Promise.all(paths.map(get));
    await wait(everyMs);
  }
}

async function followFeed(): Promise<void> {
  let place = `since=${encodeURIComponent(new Date(Date.now() - 60_000).toISOString())}`;
  for (;;) {
    const { next }: { next: string } = JSON.parse(await get(of(`/events?${place}&limit=500`)));
    place = `after=${encodeURIComponent(next)}&wait=25`;
    await wait(250);
  }
}

process.send?.('open');
await Promise.all(Array.from({ length: consoles }, (_, index) => [showPage(index), followFeed()]).flat());
