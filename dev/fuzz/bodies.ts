// Sends bodies that cost a parser or a rule more than their size suggests, on many connections, beside a neighbour's
// pushes.
import { randomBytes } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Batch, Product, Supplier } from '@integration-sync/contracts';
import type { TObject } from 'typebox';
import { residentMb } from '../process/memory.ts';
import type { Stack } from '../stack/index.ts';
import { askAsNeighbour, refusalsOf, sayFelt } from './neighbour.ts';
import { openRandom, type Random } from './random.ts';

const bodiesDrawn = 40;
const connections = 24;
const p99MsMax = 1_000;
const residentMbMax = 512;
const bodyBytesMax = 5 * 1024 * 1024 - 1_024;
const lookEveryMs = 250;
const mark = '@@';
const lostWords = 'nats connection lost';

interface Hostile {
  kind: string;
  path: string;
  body: Buffer<ArrayBuffer>;
}

const filled = (before: string, unit: string, after: string): string =>
  before + unit.repeat(Math.floor((bodyBytesMax - before.length - after.length) / unit.length)) + after;
const keys = (count: number, value: string): string =>
  Array.from({ length: count }, (_, at) => `"k${at}":${value}`).join(',');
const numbersTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
/** Items with these keys. Each key holds a mark that differs by request, so that no two requests have the same names. */
const items = (named: readonly string[][]): string =>
  `{"suppliers":[${named.map((of) => `{${of.map((key) => `"${mark}${key}":1`).join(',')}}`).join(',')}]}`;
/** As many items of `count` keys as a body may have. */
const itemsOf = (count: number, draw: () => string[]): string[][] =>
  numbersTo(Math.floor(204_000 / (2 * count + 1))).map(draw);
function shuffled(names: readonly string[], random: Random): string[] {
  const left = [...names];
  return names.flatMap(() => left.splice(random.integer(left.length), 1));
}
const names = (name: string): string =>
  `{"suppliers":[${Array.from({ length: 500 }, (_, at) => `{"externalId":"S-${at}","name":"${name}"}`).join(',')}]}`;

/** By kind, the function that draws a body. */
const kinds: Readonly<Record<string, (random: Random) => string>> = {
  brackets: (random) => filled('{"suppliers":', random.pick(['[', '[[],', '{"a":'] as const), ''),
  'brackets that close': () => `{"suppliers":${'['.repeat(bodyBytesMax / 2)}${']'.repeat(bodyBytesMax / 2)}}`,
  keys: (random) => `{${keys(300_000, random.pick(['1', '{}', '""'] as const))}}`,
  'keys of items': (random) => `{"suppliers":[{${keys(random.pick([60_000, 250_000] as const), '1')}}]}`,
  'items with keys of their own': (random) => {
    const count = random.pick([15, 120] as const);
    const own = (item: number): string[] => numbersTo(count).map((at) => `k${item}_${at}`);
    return items(numbersTo(500).map(own));
  },
  'names in any order': (random) => {
    const count = random.pick([2, 15, 60, 120] as const);
    const of = random.pick([7_500, 60_000] as const);
    return items(itemsOf(count, () => numbersTo(count).map(() => `k${random.integer(of)}`)));
  },
  'names written as escapes': (random) =>
    items(itemsOf(15, () => numbersTo(15).map(() => String.raw`\u0061${random.integer(7_500)}`))),
  'known names in any order': (random) => {
    const known = Object.keys(random.pick<TObject>([Supplier, Product, Batch]).properties);
    return items(itemsOf(known.length, () => shuffled(known, random))).replaceAll(mark, '');
  },
  'columns that are absent at random': (random) => {
    const columns = numbersTo(200).map((at) => `c${at}`);
    return items(numbersTo(500).map(() => columns.filter(() => random.chance(0.5))));
  },
  nothing: (random) => filled('{"suppliers":[', random.pick(['{},', '0,', '"",', 'null,'] as const), '0]}'),
  escapes: (random) =>
    filled(
      '{"suppliers":["',
      random.pick([String.raw`\u0041`, String.raw`\"`, String.raw`\\`] as const),
      '"]}',
    ),
  digits: () => filled('{"suppliers":[', '1', ']}'),
  blanks: (random) => filled('{"suppliers":[', random.pick([' ', '\n', '\t'] as const), ']}'),
  'texts with a forbidden end': (random) =>
    names(
      random.pick(['a', ' a', '1'] as const).repeat(random.pick([100, 249] as const)) + String.raw`\ud800`,
    ),
  'blank texts': (random) => names(random.pick([' ', '\u00a0'] as const).repeat(499) + String.raw`\u0000`),
};

const paths = [
  'suppliers',
  'products',
  'batches',
  'suppliers/plan',
  'suppliers/archive',
  'webhook-events',
] as const;

function drawBody(random: Random, at: number): Hostile {
  const [kind = '', draw = () => ''] = Object.entries(kinds)[at % Object.keys(kinds).length] ?? [];
  const path = random.pick(paths);
  return { kind, path, body: Buffer.from(draw(random)) };
}

export interface PressureOptions {
  seed: number;
  seconds: number;
  say: (line: string) => void;
}

/** Sends each body; resolves with the harm that it did to the neighbour, the services and its sender. */
export async function sendHostileBodies(stack: Stack, options: PressureOptions): Promise<string[]> {
  const { seed, seconds, say } = options;
  const random = openRandom(seed);
  const faults: string[] = [];
  for (let at = 0; at < bodiesDrawn; at += 1) {
    const hostile = drawBody(random, at);
    const end = AbortSignal.timeout((seconds * 1_000) / bodiesDrawn);
    const statuses = new Map<number, number>();
    const [felt, most] = await Promise.all([
      askAsNeighbour(stack, end),
      watchMemory(stack, end),
      ...Array.from({ length: connections }, () => sendOn(stack, hostile, end, statuses)),
    ]);
    const story = `${hostile.kind} (${hostile.path}, ${hostile.body.length} bytes)`;
    const counts = Array.from(statuses, ([status, count]) => `${count} × ${status}`).join(', ');
    say(`${story}: ${counts}; ${sayFelt(felt)}; ${most.mb.toFixed(0)} MB in ${most.service}`);
    faults.push(...refusalsOf(felt, story));
    if (felt.p99 > p99MsMax) faults.push(`${sayFelt(felt)} beside ${story}`);
    if (most.mb > residentMbMax) faults.push(`${most.mb.toFixed(0)} MB in ${most.service} with ${story}`);
    for (const [status, count] of statuses) {
      // 503 is right for the sender, who is over its share, but not for the neighbour (`refusalsOf`).
      if (status >= 500 && status !== 503) faults.push(`${count} × ${status} for ${story}`);
    }
  }
  return [...faults, ...(await lostConnections(stack))];
}

async function sendOn(
  stack: Stack,
  { path, body }: Hostile,
  end: AbortSignal,
  statuses: Map<number, number>,
): Promise<void> {
  const headers = {
    authorization: `Bearer ${stack.token({ integration: 'fuzz-hostile' })}`,
    'content-type': 'application/json',
  };
  const text = body.toString();
  const isMarked = text.includes(mark);
  while (!end.aborted) {
    const answer = await fetch(`${stack.gateway}/api/v1/integration/${path}`, {
      method: 'POST',
      headers,
      // The parser knows names that it has read before, and is quicker with them.
      body: isMarked ? text.replaceAll(mark, randomBytes(2).toString('hex')) : body,
    });
    await answer.arrayBuffer();
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
  }
}

/** The largest memory of a replica until `end`. */
async function watchMemory(stack: Stack, end: AbortSignal): Promise<{ mb: number; service: string }> {
  const most = { mb: 0, service: '' };
  do {
    for (const service of ['gateway', 'catalog', 'batches', 'webhooks']) {
      for (const pid of stack.pids()[service] ?? []) {
        const mb = residentMb([pid]);
        if (mb > most.mb) Object.assign(most, { mb, service });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  } while (!end.aborted);
  return most;
}

/** The services that lost their connection to NATS, by their logs. */
async function lostConnections({ logFolder }: Stack): Promise<string[]> {
  const files = (await readdir(logFolder)).filter((name) =>
    /^(?:gateway|catalog|batches|webhooks)/.test(name),
  );
  const lost = await Promise.all(
    files.map(async (name) => ({ name, text: await readFile(join(logFolder, name), 'utf8') })),
  );
  return lost
    .filter(({ text }) => text.includes(lostWords))
    .map(({ name }) => `a service lost its connection to NATS, by ${name}`);
}
