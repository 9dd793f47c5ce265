// A storm from its beginning to its end: the stack starts, callers and receivers begin, faults strike, frozen processes
// are resumed, replicas complete all pushes, and the collector writes the final state to a file.
import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { startMember, type Member, type MemberOptions } from './members.ts';
import { readChosen, writePlan, type Chosen } from './plan.ts';

/** Parts that a storm for one breakage may leave out: faults, or waiting until everything is delivered. */
export type Without = readonly ('faults' | 'last deliveries')[];

export type RunOptions = Chosen & MemberOptions & { without?: Without };

const progressEveryMs = 10_000;

export async function runStorm(options: RunOptions): Promise<void> {
  const { folder, say, signal, seed, seconds, profile, without = [] } = options;
  // The files of a former storm are removed. `readChosen` throws for a folder with other content.
  if (existsSync(folder) && readdirSync(folder).length > 0) readChosen(folder);
  for (const name of ['ledger', 'logs', 'live.json'])
    await rm(`${folder}/${name}`, { recursive: true, force: true });
  writePlan(folder, { seed, seconds, profile });
  await using company = new AsyncDisposableStack();
  const start = (name: string): Member => company.use(startMember(name, { folder, say, signal }));
  const stack = start('stack');
  await stack.tell('start');
  const [receivers, customers, clients] = [start('receivers'), start('customers'), start('clients')];
  for (const member of [receivers, customers, clients]) await member.tell('start');
  const chaos = start('chaos');
  if (!without.includes('faults')) await chaos.tell('start');
  say(`the storm blows for ${seconds} s`);
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    const leftMs = end - performance.now();
    await wait(Math.min(progressEveryMs, Math.max(leftMs, 1)), undefined, { signal });
    const [items, faults] = [await clients.tell('count'), await chaos.tell('count')];
    const left = Math.max(0, Math.round((end - performance.now()) / 1_000));
    say(`${left} s left: ${String(items)} items accepted, ${String(faults)} faults`);
  }

  await chaos.tell('stop');
  await clients.tell('stop');
  say('the storm is over; waiting until all pushes are announced');
  await receivers.tell('heal');
  await stack.tell('ready');
  const collector = start('collector');
  await collector.tell('settle');
  await customers.tell('stop');
  if (!without.includes('last deliveries')) {
    say('waiting until all events are delivered');
    await collector.tell('replay');
    await collector.tell('deliver');
  }
  say('writing the final state into the ledger');
  await collector.tell('collect');
}
