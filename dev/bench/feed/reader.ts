// How much a caller that reads the feed without pause delays the deliveries of another integration: in turns with no
// reader, and with a reader of a listing, which loads the same machine but not webhooks.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { publishWithBatch } from '@integration-sync/contracts';
import { residentMb } from '../../process/memory.ts';
import { startChild, type Child } from '../children.ts';
import { uptimeMs } from '../measure.ts';
import { say } from '../run.ts';
import { base, bodyOf, headersOf, inMs, push, quantile, type House } from './caller.ts';
import type { Reading } from './reader-process.ts';

const logged = 200_000;
const perBatch = 500;
const turns = 6;
const turnMs = 5_000;
const tickMs = 15;
const reader = 'reader';
const watched = 'watched';
const listed = 'listed';
const wanted = { p99Ratio: 1.2, growthMb: 50 };

interface Felt {
  lagsMs: number[];
  p99s: number[];
  pages: number;
  mostMb: number;
}

export async function benchReader(house: House): Promise<void> {
  await using receiver = await startChild('webhooks/receiver.ts');
  const receiverUrl = `http://127.0.0.1:${String(receiver.greeting)}`;
  for (let at = 0; at < logged; at += perBatch) await announce(house, reader, perBatch);
  await register(house, `${receiverUrl}/watched`);
  await push(house, listed, 0, perBatch);
  await using feedReader = await startReader(house, reader);
  await using listingReader = await startReader(house, listed);
  const loads: readonly (readonly [string, () => Promise<number>])[] = [
    ['alone', () => Promise.resolve(0)],
    ['beside a reader of the feed', () => read(feedReader, 'feed')],
    ['beside a reader of a listing', () => read(listingReader, 'listing')],
  ];
  const replicas = (): number => residentMb(house.stack.pids()['webhooks'] ?? []);
  const felt = new Map(
    loads.map(([name]): [string, Felt] => [name, { lagsMs: [], p99s: [], pages: 0, mostMb: 0 }]),
  );
  // The first turn warms up and is not measured.
  for (let turn = 0; turn <= turns; turn += 1) {
    for (const [name, load] of loads) {
      const end = AbortSignal.timeout(turnMs);
      const into = turn === 0 ? undefined : felt.get(name);
      const [lagsMs, pages] = await Promise.all([deliveries(house, receiverUrl, end), load()]);
      into?.lagsMs.push(...lagsMs);
      into?.p99s.push(quantile(lagsMs, 0.99));
      if (into === undefined) continue;
      into.pages += pages;
      into.mostMb = Math.max(into.mostMb, replicas());
    }
  }
  for (const [name, { lagsMs, pages, mostMb }] of felt) {
    const rate = ((pages / turns / turnMs) * 1_000).toFixed(0);
    say(
      `  ${name}, ${rate} pages a second: deliveries ${inMs(lagsMs)}; webhooks at most ${mostMb.toFixed(0)} MB`,
    );
  }
  const [alone, beside, listing] = loads.map(([name]) => felt.get(name));
  if (alone === undefined || beside === undefined || listing === undefined) return;
  const growthMb = beside.mostMb - alone.mostMb;
  const ratio = quantile(beside.p99s, 0.5) / quantile(alone.p99s, 0.5);
  const fair = quantile(listing.p99s, 0.5) / quantile(alone.p99s, 0.5);
  say(
    `  medians of ${turns} turns: p99 × ${ratio.toFixed(2)} beside the feed's reader, × ${fair.toFixed(2)} beside the listing's; ` +
      `webhooks ${growthMb.toFixed(0)} MB more; wanted ≤ ${wanted.p99Ratio} and ≤ ${wanted.growthMb} MB`,
  );
}

const read = async (child: Child, what: Reading['what']): Promise<number> =>
  Number(await child.ask({ what, ms: turnMs } satisfies Reading));

const startReader = ({ stack }: House, integration: string): Promise<Child> =>
  startChild('feed/reader-process.ts', [stack.gateway, stack.token({ integration })]);

/** Announces events one after the other; resolves with the time from each announcement to its delivery. */
async function deliveries(house: House, receiverUrl: string, end: AbortSignal): Promise<number[]> {
  await fetch(`${receiverUrl}/seen`, { method: 'DELETE' });
  let sent = 0;
  for (; !end.aborted; sent += 1) {
    await announce(house, watched, 1);
    await wait(tickMs);
  }
  for (;;) {
    const tallies: { path: string; distinct: number; lagsMs: number[] }[] = JSON.parse(
      await (await fetch(`${receiverUrl}/seen`)).text(),
    );
    const tally = tallies.find(({ path }) => path === '/watched');
    if ((tally?.distinct ?? 0) >= sent) return tally?.lagsMs ?? [];
    await wait(100);
  }
}

async function announce({ bus }: House, integration: string, count: number): Promise<void> {
  const announcedAtMs = uptimeMs();
  const events = Array.from({ length: count }, (_, index) => ({
    subject: `events.${integration}.supplier.created`,
    id: randomUUID(),
    body: bodyOf(integration, index, { announcedAtMs }),
  }));
  await publishWithBatch(bus, { announcer: 'catalog', integration, events });
}

async function register(house: House, url: string): Promise<void> {
  const answer = await fetch(`${house.stack.gateway}${base}/webhook-events`, {
    method: 'POST',
    headers: { ...headersOf(house, watched), 'content-type': 'application/json' },
    body: JSON.stringify({ url, events: ['supplier.created'] }),
  });
  if (answer.status !== 201)
    throw new Error(`the registration of a webhook was answered ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}
