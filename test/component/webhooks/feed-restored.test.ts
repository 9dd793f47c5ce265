// Readers of the feed read on without a pause while NATS is restored from an older copy.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { askFeed, idsOf, type FeedPage, type FeedQuery } from '../../support/feed.ts';
import { startCopiedNats, type CopiedNats } from '../../support/nats.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

let nats: CopiedNats;
let house: House;
beforeAll(async () => {
  nats = await startCopiedNats();
  house = await openHouse({ nats });
}, 60_000);
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await nats[Symbol.asyncDispose]();
});

type Part = 'in the copy' | 'lost' | 'later';

/** The ids of one reader from its start, or from a refusal, to the next refusal. */
type Chain = string[];

/** Announces events until it is stopped, and notes the part of each event that was surely announced within one part. */
function openAnnouncer(client: Client) {
  const parts = new Map<string, Part>();
  let part: Part | undefined = 'in the copy';
  const stopping = new AbortController();
  const announceOn = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const begun = part;
      const ids = await client.announce(1 + Math.floor(Math.random() * 3)).catch(() => []);
      if (begun !== undefined && begun === part) for (const id of ids) parts.set(id, begun);
      await wait(Math.random() * 30);
    }
  };
  const running = announceOn();
  return {
    parts,
    enter: (next: Part | undefined): void => void (part = next),
    ofPart: (wanted: Part): string[] => [...parts].filter(([, one]) => one === wanted).map(([id]) => id),
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}

/** Reads the feed page after page until it is stopped and the feed has ended. After a refusal it reads on from `since`. */
async function read(
  ask: (query: FeedQuery) => Promise<FeedPage>,
  { since, isStopping }: { since: string; isStopping: () => boolean },
): Promise<Chain[]> {
  const chains: Chain[] = [[]];
  let from: FeedQuery = { since };
  for (;;) {
    const wasStopping = isStopping();
    const page = await ask({
      ...from,
      limit: 1 + Math.floor(Math.random() * 7),
      wait: Math.floor(Math.random() * 3),
    }).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      return error;
    });
    if (page instanceof Failure) {
      if (page.code === 'conflict') {
        chains.push([]);
        from = { since };
      }
      await wait(Math.random() * 100);
      continue;
    }
    chains.at(-1)?.push(...idsOf(page));
    from = { after: page.next };
    if (wasStopping && !page.more && page.events.length === 0) return chains;
  }
}

/** The ids of `all` from the first one that is in the chain to the last one. */
function between(all: readonly string[], chain: Chain): string[] {
  const seen = new Set(chain);
  const first = all.findIndex((id) => seen.has(id));
  return first < 0 ? [] : all.slice(first, all.findLastIndex((id) => seen.has(id)) + 1);
}

// Setup: two replicas, four readers, and events without a pause.
// Timeline: the store of NATS is copied, and a second later put back.
// What this proves: a reader that has seen a lost event is refused before it sees a later one, each reader sees each later event,
// and no page passes over an event or shows one twice.
it('readers of the feed miss no event that outlives a restore of NATS', { timeout: 90_000 }, async () => {
  const client = house.newClient();
  const since = new Date(Date.now() - 1_000).toISOString();
  await using _one = await startWebhookProcess(house.environment);
  await using _two = await startWebhookProcess(house.environment);
  const untilConnected = () => eventually(async () => house.bus.connected, Boolean, 10_000);
  const announcer = openAnnouncer(client);
  let isStopping = false;
  const readers = Array.from({ length: 4 }, () =>
    read((query) => askFeed(house.bus, client.integration, query), { since, isStopping: () => isStopping }),
  );
  await wait(500 + Math.random() * 500);

  announcer.enter(undefined);
  await nats.copy();
  await untilConnected();
  announcer.enter('lost');
  await wait(500 + Math.random() * 1_000);
  announcer.enter(undefined);
  await nats.putBack();
  await untilConnected();
  announcer.enter('later');
  await wait(1_000 + Math.random() * 1_000);
  await announcer.stop();
  isStopping = true;

  const { parts, ofPart } = announcer;
  const [inCopy, lost, later] = (['in the copy', 'lost', 'later'] as const).map(ofPart);
  expect([inCopy, lost, later].every((ids = []) => ids.length > 5)).toBe(true);
  for (const chains of await Promise.all(readers)) {
    for (const chain of chains) {
      expect(new Set(chain).size).toBe(chain.length);
      const known = chain.filter((id) => parts.has(id));
      const seen = new Set(known.map((id) => parts.get(id)));
      expect(seen.has('lost') && seen.has('later')).toBe(false);
      const all = [...parts].flatMap(([id, part]) => (part === 'in the copy' || seen.has(part) ? [id] : []));
      expect(known).toEqual(between(all, chain));
    }
    expect((later ?? []).filter((id) => !chains.at(-1)?.includes(id))).toEqual([]);
  }
});
