// Callers of one integration that push the same records without pause, beside a quiet integration that pushes one
// record at a time: the quiet one may not get slower, and each of the many must get answers.
import { setTimeout as wait } from 'node:timers/promises';
import type { Stack } from '../stack/index.ts';
import { openClient, type Answer, type Client } from './client.ts';
import { makeItems, pushBody, suppliersPath } from './items.ts';
import { figuresOf, quantile } from './measure.ts';
import { freshName } from './push.ts';
import type { Setting } from './setting.ts';
import { tableOf, type Row } from './table.ts';

const secondsDefault = 60;
const crowds = [8, 24, 60];
const sameRecords = 300;
/** The number of different bodies: a push with another body than the last one changes every record. */
const versions = 7;
const wanted = { longestMs: 10_000, p99Ms: 1_000 };

interface Tally {
  byStatus: Map<number, number>;
  /** The times of the answers with 200. */
  ms: number[];
  /** The longest time between two answers with 200, from the start to the end of the run. */
  longestMs: number;
}

export async function benchCrowd({ stack, startBeside, options, say }: Setting): Promise<void> {
  const seconds = options.seconds ?? secondsDefault;
  const two = await startBeside({ replicas: { catalog: 2 } });
  const rows: Row[] = [];
  for (const [catalogs, by] of [
    [1, stack],
    [2, two],
  ] as const) {
    for (const connections of crowds) {
      const { many, quiet } = await runCrowd(by, connections, seconds * 1_000);
      const row = rowOf(`${connections} connections, ${catalogs} catalogs`, many, quiet);
      say(`measured ${row.join('  ')}`);
      rows.push(row);
    }
  }
  say('');
  for (const line of tableOf(head, rows)) say(line);
  say(
    `${seconds} s each; ${sameRecords} suppliers that every push changes; A are the connections, B the quiet integration; ` +
      `wanted: A no 504 and ≤ ${wanted.longestMs} ms between two answers with 200, B no 503 and p99 ≤ ${wanted.p99Ms} ms`,
  );
}

async function runCrowd(
  stack: Stack,
  connections: number,
  forMs: number,
): Promise<{ many: Tally; quiet: Tally }> {
  const name = freshName();
  using crowd = openClient(stack.gateway, stack.token({ integration: `crowd-${name}` }));
  using alone = openClient(stack.gateway, stack.token({ integration: `quiet-${name}` }));
  const bodies = Array.from({ length: versions }, (_, version) =>
    pushBody(makeItems(name, sameRecords).map((item) => Object.assign(item, { phone: `+46 8 ${version}` }))),
  );
  await crowd.post(suppliersPath, bodies[0] ?? Buffer.alloc(0));
  await alone.post(suppliersPath, pushBody(makeItems(freshName(), 1)));
  let next = 0;
  const nextBody = (): Buffer => bodies[(next += 1) % versions] ?? Buffer.alloc(0);
  const end = performance.now() + forMs;
  const [quiet, ...tallies] = await Promise.all([
    pushOn(alone, end, () => pushBody(makeItems(freshName(), 1))),
    ...Array.from({ length: connections }, () => pushOn(crowd, end, nextBody)),
  ]);
  return { many: together(tallies), quiet };
}

/** Pushes until the end, and waits for Retry-After after each refusal. */
async function pushOn(client: Client, end: number, nextBody: () => Buffer): Promise<Tally> {
  const tally: Tally = { byStatus: new Map(), ms: [], longestMs: 0 };
  let lastAt = performance.now();
  const note = (): void => {
    const now = performance.now();
    tally.longestMs = Math.max(tally.longestMs, now - lastAt);
    lastAt = now;
  };
  while (performance.now() < end) {
    const began = performance.now();
    const { status, headers } = await client.tryPost(suppliersPath, nextBody());
    tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + 1);
    if (status === 200) {
      tally.ms.push(performance.now() - began);
      note();
    } else await wait(retryAfterMs(headers));
  }
  note();
  return tally;
}

const retryAfterMs = (headers: Answer['headers']): number => Number(headers['retry-after'] ?? 1) * 1_000;

function together(tallies: readonly Tally[]): Tally {
  const all: Tally = { byStatus: new Map(), ms: [], longestMs: 0 };
  for (const { byStatus, ms, longestMs } of tallies) {
    for (const [status, count] of byStatus) all.byStatus.set(status, (all.byStatus.get(status) ?? 0) + count);
    all.ms.push(...ms);
    all.longestMs = Math.max(all.longestMs, longestMs);
  }
  return all;
}

const head: Row = ['', 'A 200', '503', '504', 'other', 'longest ms', 'B 200', '503', 'other', 'p99 ms', ''];

function rowOf(what: string, many: Tally, quiet: Tally): Row {
  const of = ({ byStatus }: Tally, status: number): number => byStatus.get(status) ?? 0;
  const others = ({ byStatus }: Tally, named: readonly number[]): number =>
    [...byStatus].reduce((sum, [status, count]) => sum + (named.includes(status) ? 0 : count), 0);
  const p99Ms = quantile(figuresOf(quiet.ms).ms, 0.99);
  const manyHold = of(many, 504) === 0 && many.longestMs <= wanted.longestMs;
  const quietHold = of(quiet, 503) === 0 && p99Ms <= wanted.p99Ms;
  return [
    what,
    ...[of(many, 200), of(many, 503), of(many, 504), others(many, [200, 503, 504])].map(String),
    many.longestMs.toFixed(0),
    ...[of(quiet, 200), of(quiet, 503), others(quiet, [200, 503])].map(String),
    p99Ms.toFixed(0),
    manyHold && quietHold ? 'ok' : 'MISS',
  ];
}
