// *Load a file* of the console in Chromium, in turns with `integration-sync load` of the same file on the same service, each into
// a new integration: rows a second, the longest task of the page's main thread, and memory. Then a workbook.
import { join } from 'node:path';
import { browsers } from '../browser.ts';
import { installPackages } from '../pack.ts';
import { StartFailure } from '../stack/failure.ts';
import { suppliersFile, suppliersWorkbook, type Files } from './loads-files.ts';
import { openMeteredPages, type MeteredPages, type PageLoad } from './loads-page-meter.ts';
import { inTurns, loaded, medianRatio, type Took, type Way } from './loads.ts';
import { medianOf, reportLine } from './measure.ts';
import { freshName } from './push.ts';
import type { Setting } from './setting.ts';
import { temporaryFolder } from './temporary.ts';

const turnsDefault = 3;
const rowsDefault = 200_000;
const taskMsMax = 100;

interface Kind {
  name: string;
  files: Files;
  rows: number;
  heapMbMax: number;
}

export async function benchPageLoads(setting: Setting): Promise<void> {
  const [executable] = browsers;
  if (executable === undefined) throw new StartFailure('There is no Chromium on the PATH.');
  await using place = await temporaryFolder();
  const loader = join(await installPackages(place.folder), 'node_modules/integration-sync/dist/main.js');
  const rows = setting.options.rows ?? rowsDefault;
  await using csv = await suppliersFile(rows);
  await using workbook = await suppliersWorkbook(rows / 2);
  await using pages = await openMeteredPages(executable, setting.stack);
  const kinds: Kind[] = [
    { name: 'CSV', files: csv, rows, heapMbMax: 300 },
    { name: 'workbook', files: workbook, rows: rows / 2, heapMbMax: 500 },
  ];
  for (const kind of kinds) await benchKind(setting, kind, loader, pages);
}

async function benchKind(
  { stack, options, say }: Setting,
  { name, files, rows, heapMbMax }: Kind,
  loader: string,
  pages: MeteredPages,
): Promise<void> {
  const inPages: PageLoad[] = [];
  const ways: Way[] = [
    () => loaded(loader, files, { url: stack.gateway, key: stack.token({ integration: freshName() }) })(),
    async () => {
      const one = await pages.load(files.paths, rows);
      inPages.push(one);
      return one;
    },
  ];
  const [byCommand = [], byPage = []] = await inTurns(ways, options.turns ?? turnsDefault);
  const ratio = medianRatio(byCommand, byPage, ({ tookMs }) => tookMs);
  const rates = [byCommand, byPage].map((some) => some.map(rateOf(rows)).join(' '));
  const most = (of: (one: PageLoad) => number): number => Math.max(...inPages.map(of));
  const heapMb = most((one) => one.heapMb);
  const taskMs = most((one) => one.longestTaskMs);
  const detail = `${rows} rows, ${inPages.length} turns`;
  const cpu = [byCommand, byPage].map((some) => (medianOf(some.map((one) => one.cpuMs)) / 1_000).toFixed(1));
  const thread = `${detail}; of ${inPages.map((one) => one.longTasks).join(', ')} tasks over 50 ms`;
  const memory = `${detail}; ${parts(inPages)}; renderer ${most((one) => one.residentMb).toFixed(0)} MB resident`;
  say(
    reportLine(
      `rows/s of the ${name}, page × command`,
      ratio,
      `${rates.join(' and ')}; processor time ${cpu.join(' and ')} s`,
      '≥ 0.8',
      ratio >= 0.8,
    ),
  );
  say(reportLine('ms, the longest task of the main thread', taskMs, thread, '≤ 100', taskMs <= taskMsMax));
  say(reportLine('MB of heap at most', heapMb, memory, `≤ ${heapMbMax}`, heapMb <= heapMbMax));
}

const parts = (all: readonly PageLoad[]): string =>
  `read in ${medianOf(all.map((one) => one.lookedMs / 1_000)).toFixed(1)} s, page alone ${Math.max(
    ...all.map((one) => one.pageMb),
  ).toFixed(0)} MB`;

const rateOf =
  (rows: number) =>
  ({ tookMs }: Took): number =>
    Math.round(rows / (tookMs / 1_000));
