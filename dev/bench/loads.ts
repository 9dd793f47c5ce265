// Compares `integration-sync load`, on files of three kinds, with a bare script that reads them by csv-parse. First both push to
// a stand-in that answers immediately, so that their own work takes the time. Then both push to a stand-in that answers after
// 50 ms, where the script tries several numbers of pushes in flight. Last both push to the whole service, into new integrations.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installPackages } from '../pack.ts';
import { startChild } from './children.ts';
import { filesOf, type Files } from './loads-files.ts';
import { medianOf, reportLine } from './measure.ts';
import { freshName } from './push.ts';
import type { Setting } from './setting.ts';
import { temporaryFolder } from './temporary.ts';

const turnsDefault = { standIn: 3, service: 5 };
const rowsDefault = { standIn: 1_000_000, far: 600_000, service: 100_000 };
const inFlightDefault = 8;
const distanceMs = 50;
const fixedNumbers = [8, 16, 32, 64] as const;

export async function benchLoads(setting: Setting): Promise<void> {
  await using place = await temporaryFolder();
  const loader = join(await installPackages(place.folder), 'node_modules/integration-sync/dist/main.js');
  await benchAlone(setting, loader);
  await benchFar(setting, loader);
  await benchThrough(setting, loader);
}

/** Measures loads against the stand-in, which answers immediately. */
async function benchAlone({ options, say }: Setting, loader: string): Promise<void> {
  const rows = options.rows ?? rowsDefault.standIn;
  await using files = await filesOf(rows);
  await using standIn = await startChild('loads-stand-in.ts');
  const to = { url: String(standIn.greeting), key: 'none' };
  const ways = [loaded(loader, files, to), bare('csv', files, to), bare('parse', files, to)];
  const [load = [], script = [], parsing = []] = await inTurns(ways, options.turns ?? turnsDefault.standIn);
  const resident = Math.max(...load.map((one) => one.residentMb));
  const detail = `${rows} rows, medians of ${load.length} turns`;
  const cpu = [load, parsing].map((some) => medianOf(some.map((one) => one.cpuMs)) / 1_000);
  const processor = medianRatio(load, parsing, ({ cpuMs }) => cpuMs);
  const rate = medianRatio(script, load, msOf);
  say(reportLine('MB resident at most', resident, detail, ['≤', 200]));
  say(
    reportLine(
      'processor time × csv-parse alone',
      processor,
      `${cpu.map((seconds) => seconds?.toFixed(1)).join(' and ')} s`,
      ['≤', 2.5],
    ),
  );
  say(reportLine('items/s × a bare script, where answers come at once', rate, detail, ['≥', 0.9]));
}

/** Measures loads against the stand-in, which answers after 50 ms. */
async function benchFar({ options, say }: Setting, loader: string): Promise<void> {
  const rows = options.rows ?? rowsDefault.far;
  await using files = await filesOf(rows);
  await using standIn = await startChild('loads-stand-in.ts', [`${distanceMs}`]);
  const to = { url: String(standIn.greeting), key: 'none' };
  const scripts = fixedNumbers.map((number) => bare('csv', files, to, number));
  const took = await inTurns([loaded(loader, files, to), ...scripts], options.turns ?? turnsDefault.standIn);
  const [load = 0, ...fixed] = took.map((some) => medianOf(some.map(msOf)));
  const rate = Math.min(...fixed) / load;
  const itemsOf = (ms: number): string => `${Math.round(rows / (ms / 1_000))}`;
  const detail = `${itemsOf(load)} items/s; with ${fixedNumbers.join(', ')} in flight ${fixed.map(itemsOf).join(', ')}`;
  say(reportLine(`items/s × the best bare script, ${distanceMs} ms away`, rate, detail, ['≥', 0.9]));
}

async function benchThrough({ startStack, options, say }: Setting, loader: string): Promise<void> {
  const rows = options.rows ?? rowsDefault.service;
  const stack = await startStack();
  await using files = await filesOf(rows);
  const to = () => ({ url: stack.gateway, key: stack.token({ integration: freshName() }) });
  const ways = [() => loaded(loader, files, to())(), () => bare('csv', files, to())()];
  const [load = [], script = []] = await inTurns(ways, options.turns ?? turnsDefault.service);
  const rates = [load, script].map((some) => Math.round(rows / (medianOf(some.map(msOf)) / 1_000)));
  const detail = `${rows} rows, medians of ${load.length} turns; ${rates.join(', ')} items/s`;
  const ratio = medianRatio(script, load, msOf);
  say(reportLine('items/s × a bare script, on the whole service', ratio, detail, ['≥', 0.9]));
}

interface Took {
  tookMs: number;
  cpuMs: number;
  residentMb: number;
}

const msOf = ({ tookMs }: Took): number => tookMs;

type Way = () => Promise<Took>;

/** Each turn begins with another way of loading, because each load leaves work to the database, which slows the next. */
async function inTurns(ways: readonly Way[], turns: number): Promise<Took[][]> {
  const all = ways.map(() => new Array<Took>());
  for (let turn = 0; turn < turns; turn += 1) {
    for (const step of ways.keys()) {
      const next = (turn + step) % ways.length;
      const took = await ways[next]?.();
      if (took !== undefined) all[next]?.push(took);
    }
  }
  return all;
}

/** The median of the ratios of the turns, because whatever slows a turn slows both ways in it. */
const medianRatio = (over: readonly Took[], under: readonly Took[], of: (took: Took) => number): number =>
  medianOf(over.map((took, turn) => of(took) / of(under[turn] ?? took)));

interface To {
  url: string;
  key: string;
}

const loaded =
  (loader: string, { folder, paths }: Files, to: To): Way =>
  async () =>
    run([loader, 'load', ...paths], await mkdtemp(join(folder, 'load-')), to);

const bare =
  (way: 'parse' | 'csv', { folder, paths }: Files, to: To, inFlight = inFlightDefault): Way =>
  () =>
    run([join(import.meta.dirname, 'loads-bare.ts'), way, to.url, `${inFlight}`, ...paths], folder, to);

async function run(args: readonly string[], cwd: string, { url, key }: To): Promise<Took> {
  const usage = join(cwd, 'usage.json');
  const environment = { INTEGRATION_SYNC_URL: url, INTEGRATION_SYNC_KEY: key, USAGE_FILE: usage };
  const all = ['--import', join(import.meta.dirname, 'loads-usage.ts'), ...args];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const began = performance.now();
  const child = execFile(process.execPath, all, { cwd, env: environment }, (_error, _out, err) => {
    // Exit code 2: some rows were rejected, as they should be.
    if (child.exitCode === 0 || child.exitCode === 2) resolve();
    else reject(new Error(`${args.join(' ')} ended with ${child.exitCode}: ${err}`));
  });
  await promise;
  return { tookMs: performance.now() - began, ...JSON.parse(await readFile(usage, 'utf8')) };
}
