// The options of `npm run bench`.
import { parseArgs } from 'node:util';
import { parseForced, type Forced } from '../engines/choice.ts';
import { readCount } from '../process/words.ts';

export const benches = [
  'push',
  'events',
  'listings',
  'turns',
  'deliveries',
  'loads',
  'throughput',
  'burst',
  'replicas',
  'feed',
  'rivals',
] as const;
export type Bench = (typeof benches)[number];

/** Benchmarks that run unless others are named. */
const unnamed: readonly Bench[] = ['push', 'events', 'listings'];

/** Benchmarks that compare this checkout with another one. */
const inTurns: readonly Bench[] = ['turns', 'deliveries'];

export const usage = `Usage: npm run bench [-- ${benches.join(' ')}] [OPTIONS]

  --turns N          so many turns instead of those that each benchmark takes
  --warm N           so many pushes or pages before the turns (rivals, turns)
  --beside FOLDER    another checkout with its packages, that this one is compared with (turns, deliveries)
  --sizes N,N        lengths of the listings (listings)
  --rows N           rows of the files (loads)
  --deliveries N     deliveries of a turn (throughput, burst)
  --seconds N        how long each part measures (feed)
  --engines SOURCE   MongoDB and NATS from docker, path, download or build alone
  --help             print this

${unnamed.join(', ')} run unless others are named. rivals installs packages in dev/bench/rivals, throughput needs redis-server
on the PATH.
`;

export interface BenchOptions {
  names: readonly Bench[];
  sizes: readonly number[];
  turns: number | undefined;
  warm: number | undefined;
  rows: number | undefined;
  deliveries: number | undefined;
  seconds: number | undefined;
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
      deliveries: { type: 'string' },
      seconds: { type: 'string' },
      sizes: { type: 'string', default: '1000,100000,1000000' },
      engines: { type: 'string' },
      beside: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const names = positionals.length === 0 ? unnamed : positionals.map(benchOf);
  const lonely = values.beside ? undefined : inTurns.find((name) => names.includes(name));
  if (lonely !== undefined)
    throw new RangeError(`${lonely} needs --beside FOLDER, the folder of another checkout`);
  const count = (name: 'turns' | 'warm' | 'rows' | 'deliveries' | 'seconds', least: number, most: number) => {
    const text = values[name];
    return text === undefined ? undefined : readCount(`--${name}`, text, [least, most]);
  };
  return {
    names,
    sizes: values.sizes.split(',').map((size) => readCount('--sizes', size, [1_000, 10_000_000])),
    turns: count('turns', 1, 1_000),
    warm: count('warm', 0, 100_000),
    rows: count('rows', 1_000, 10_000_000),
    deliveries: count('deliveries', 500, 10_000_000),
    seconds: count('seconds', 1, 3_600),
    engines: parseForced(values.engines),
    beside: values.beside,
    help: values.help,
  };
}

function benchOf(text: string): Bench {
  const bench = benches.find((name) => name === text);
  if (bench === undefined) throw new RangeError(`there is no benchmark "${text}"`);
  return bench;
}
