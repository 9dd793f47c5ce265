// Sends the requests of open consoles until it is killed: each page is in the middle of its rhythm, and each person has
// one long poll for events.
//
//   half of them       the overview
//   three tenths       one webhook
//   the others         runs, webhooks
//
// A page asks again when an event has arrived, and otherwise after about a minute (console/src/state/use-when-old.ts).
import { setTimeout as wait } from 'node:timers/promises';
import { basePath } from '@integration-sync/contracts';

const [gateway = '', token = '', count = '0'] = process.argv.slice(2);
const consoles = Number(count);
/** Like a browser, `fetch` asks for compressed answers. */
const get = async <Body>(path: string): Promise<Body> => {
  const answer = await fetch(new URL(path, gateway), { headers: { authorization: `Bearer ${token}` } });
  const body = await answer.text();
  if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${body.slice(0, 200)}`);
  return JSON.parse(body);
};
const of = (path: string): string => `${basePath}${path}`;
const { entities } = await get<{ entities: { id: string }[] }>(of('/webhook-events?limit=1'));
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
const chance = (fromMs: number, toMs: number): number => fromMs + (toMs - fromMs) * Math.random();

function pathsOf(index: number): readonly string[] {
  const share = index / consoles;
  if (share < 0.5) return overview;
  return share < 0.8 ? oneWebhook : (lists[index % lists.length] ?? []);
}

async function showPage(index: number): Promise<void> {
  const paths = pathsOf(index);
  const ask = (): Promise<unknown> => Promise.all(paths.map(get));
  let news = Promise.withResolvers<void>();
  void followFeed(() => news.resolve());
  let restMs = chance(0, 70_000);
  let newsAtMs = -Infinity;
  for (;;) {
    const asleep = new AbortController();
    const rested = wait(restMs, 'rested', { signal: asleep.signal }).catch(() => 'woken');
    const why = await Promise.race([rested, news.promise]);
    asleep.abort();
    if (why !== 'rested') {
      await wait(Math.max(newsAtMs + chance(10_000, 15_000) - performance.now(), chance(500, 1_500)));
      newsAtMs = performance.now();
      news = Promise.withResolvers<void>();
    }
    await ask();
    // A page asks once more 15 s after an event, because what the event led to may be there only then.
    restMs = performance.now() < newsAtMs + 10_000 ? chance(15_000, 20_000) : chance(60_000, 80_000);
  }
}

async function followFeed(tell: () => void): Promise<void> {
  let place = `since=${encodeURIComponent(new Date().toISOString())}`;
  let waitSeconds = Math.ceil(chance(0, 25));
  for (;;) {
    const { next, events } = await get<{ next: string; events: unknown[] }>(of(`/events?${place}&limit=500`));
    if (events.length > 0) tell();
    place = `after=${encodeURIComponent(next)}&wait=${waitSeconds}`;
    waitSeconds = 25;
    await wait(250);
  }
}

process.send?.('open');
await Promise.all(Array.from({ length: consoles }, (_, index) => showPage(index)));
