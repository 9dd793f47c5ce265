// The options of `npm run bench` and `npm run bench:webhooks`.
import { parseArgs } from 'node:util';
import { parseForced, type Forced } from '../engines/choice.ts';
import { readCount } from '../process/words.ts';

export const benches = [
  'push',
  'gateway',
  'events',
  'listings',
  'rivals',
  'rival-pages',
  'turns',
  'deliveries',
  'loads',
  'loads-page',
] as const;
export type Bench = (typeof benches)[number];

/** Benchmarks that install packages of their own, and therefore run only if they are named. */
export const withRivals: ReadonlySet<Bench> = new Set(['rivals', 'rival-pages']);

/** Benchmarks that compare this checkout with another one. */
const inTurns = ['turns', 'deliveries'] as const;

const onlyNamed: ReadonlySet<Bench> = new Set([...withRivals, ...inTurns, 'loads', 'loads-page']);

export const usage = `Usage: npm run bench [-- ${benches.join(' ')}] [OPTIONS]

  --turns N          so many turns instead of those that each benchmark takes
  --warm N           so many pushes or pages before the turns (gateway, rivals, rival-pages, turns)
  --beside FOLDER    another checkout with its packages, that this one is compared with (turns, deliveries)
  --sizes N,N        lengths of the listings (listings)
  --rows N           rows of the files (loads, loads-page)
  --engines SOURCE   MongoDB and NATS from docker, path, download or build alone
  --help             print this

rivals and rival-pages run only where they are named: they install packages of their own in dev/bench/rivals.
So do turns and deliveries, which need --beside, loads, and loads-page, which needs Chromium on the PATH.
`;

export interface BenchOptions {
  names: readonly Bench[];
  sizes: readonly number[];
  turns: number | undefined;
  warm: number | undefined;
  rows: number | undefined;
  engines: Forced | undefined;
  beside: string | undefined;
  help: boolean;
}

export function parseBenchOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      turns: { type: 'string' },
      warm: { type: 'string' },
      rows: { type: 'string' },
      sizes: { type: 'string', default: '1000,100000,1000000' },
      engines: { type: 'string' },
      beside: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { turns, warm, rows, sizes, engines, beside, help } = values;
  const names =
    positionals.length === 0 ? benches.filter((name) => !onlyNamed.has(name)) : positionals.map(benchOf);
  const lonely = beside ? undefined : inTurns.find((name) => names.includes(name));
  if (lonely !== undefined)
    throw new RangeError(`${lonely} needs --beside FOLDER, the folder of another checkout`);
  return {
    names,
    sizes: sizes.split(',').map((size) => readCount('--sizes', size, [1_000, 10_000_000])),
    turns: turns === undefined ? undefined : readCount('--turns', turns, [1, 1_000]),
    warm: warm === undefined ? undefined : readCount('--warm', warm, [0, 100_000]),
    rows: rows === undefined ? undefined : readCount('--rows', rows, [1_000, 10_000_000]),
    engines: readEngines(engines),
    beside,
    help,
  };
}

function benchOf(text: string): Bench {
  const bench = benches.find((name) => name === text);
  if (bench === undefined) throw new RangeError(`there is no benchmark "${text}"`);
  return bench;
}

export const webhooksBenches = [
  'throughput',
  'hanging',
  'fanout',
  'burst',
  'replicas',
  'partitions',
  'many',
] as const;
export type WebhooksBench = (typeof webhooksBenches)[number];

export const webhooksUsage = `Usage: npm run bench:webhooks [-- ${webhooksBenches.join(' ')}] [OPTIONS]

  --engines SOURCE   MongoDB and NATS from docker, path, download or build alone
  --help             print this
`;

export interface WebhooksBenchOptions {
  names: readonly WebhooksBench[];
  engines: Forced | undefined;
  help: boolean;
}

export function parseWebhooksBenchOptions(args: readonly string[]): WebhooksBenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { engines: { type: 'string' }, help: { type: 'boolean', short: 'h', default: false } },
  });
  const named = positionals.map((text) => {
    const bench = webhooksBenches.find((name) => name === text);
    if (bench === undefined) throw new RangeError(`there is no benchmark "${text}"`);
    return bench;
  });
  return {
    names: named.length === 0 ? webhooksBenches : named,
    engines: readEngines(values.engines),
    help: values.help,
  };
}

function readEngines(text: string | undefined): Forced | undefined {
  if (text === '') throw new RangeError('--engines takes docker, path, download or build');
  try {
    return parseForced(text);
  } catch {
    throw new RangeError(`--engines takes docker, path, download or build, not "${text}"`);
  }
}
