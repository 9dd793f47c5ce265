// How much a caller that reads the feed without pause delays another integration's deliveries, in turns with and without it.
import { setTimeout as wait } from 'node:timers/promises';
import { publishWithBatch } from '@integration-sync/contracts';
import { openBus, type Bus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { residentMb } from '../process/memory.ts';
import type { Stack } from '../stack/index.ts';
import { startChild } from './children.ts';
import { openClient, registerWebhook } from './client.ts';
import { makeEvents } from './items.ts';
import { inMs, uptimeMs } from './measure.ts';

const logged = 200_000;
const perBatch = 500;
const turns = 6;
const tickMs = 15;
const read = 'read';
const watched = 'watched';

interface Felt {
  lagsMs: number[];
  pages: number;
  mostMb: number;
}

export async function benchFeedReader(
  stack: Stack,
  seconds: number,
  say: (line: string) => void,
): Promise<void> {
  const log = openLog({ service: 'bench', level: 'silent' });
  await using bus = await openBus({ url: stack.nats, name: 'bench', log });
  await using receiver = await startChild('webhooks/receiver.ts');
  const receiverUrl = `http://127.0.0.1:${String(receiver.greeting)}`;
  for (let at = 0; at < logged; at += perBatch) await announce(bus, read, perBatch);
  using client = openClient(stack.gateway, stack.token({ integration: watched }));
  await registerWebhook(client, `${receiverUrl}/watched`);
  const token = stack.token({ integration: read });
  await using reader = await startChild('feed-reader-process.ts', [stack.gateway, token]);
  const turnMs = (seconds * 1_000) / turns;
  const alone: Felt = { lagsMs: [], pages: 0, mostMb: 0 };
  const beside: Felt = { lagsMs: [], pages: 0, mostMb: 0 };
  // The first turn warms up and is not measured.
  for (let turn = 0; turn <= turns; turn += 1) {
    for (const felt of [alone, beside]) {
      const [lagsMs, pages] = await Promise.all([
        deliveries(bus, receiverUrl, AbortSignal.timeout(turnMs)),
        felt === beside ? reader.ask({ ms: turnMs }) : 0,
      ]);
      if (turn === 0) continue;
      felt.lagsMs.push(...lagsMs);
      felt.pages += Number(pages);
      felt.mostMb = Math.max(felt.mostMb, residentMb(stack.pids()['webhooks'] ?? []));
    }
  }
  say(`  deliveries alone: ${inMs(alone.lagsMs)}; webhooks at most ${alone.mostMb.toFixed(0)} MB`);
  say(
    `  beside a reader of ${(beside.pages / seconds).toFixed(0)} pages a second: ${inMs(beside.lagsMs)}; ` +
      `${beside.mostMb.toFixed(0)} MB`,
  );
}

/** Announces events one after the other; resolves with the time from each announcement to its delivery. */
async function deliveries(bus: Bus, receiverUrl: string, end: AbortSignal): Promise<number[]> {
  await fetch(`${receiverUrl}/seen`, { method: 'DELETE' });
  let sent = 0;
  for (; !end.aborted; sent += 1) {
    await announce(bus, watched, 1);
    await wait(tickMs);
  }
  for (; ; await wait(100)) {
    const answer = await fetch(`${receiverUrl}/seen`);
    const tallies: { distinct: number; lagsMs: number[] }[] = JSON.parse(await answer.text());
    const [tally] = tallies;
    if ((tally?.distinct ?? 0) >= sent) return tally?.lagsMs ?? [];
  }
}

async function announce(bus: Bus, integration: string, count: number): Promise<void> {
  const events = makeEvents(integration, count, { announcedAtMs: uptimeMs() });
  await publishWithBatch(bus, { announcer: 'catalog', integration, events });
}
