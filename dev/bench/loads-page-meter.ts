// A page of the console that loads a file while its main thread and its memory are watched.
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Stack } from '../stack/index.ts';
import { openChromium, type Chromium, type ChromiumPage } from './chromium.ts';
import type { Took } from './loads.ts';
import { freshName } from './push.ts';

export interface PageLoad extends Took {
  /** Until the page has read the chosen file, and Load can be pressed. */
  lookedMs: number;
  longestTaskMs: number;
  /** How many tasks of the main thread took more than 50 ms. */
  longTasks: number;
  /** Of the page and of its worker, with the memory of buffers, at most. */
  heapMb: number;
  pageMb: number;
}

export interface MeteredPages extends AsyncDisposable {
  load(paths: readonly string[], rows: number): Promise<PageLoad>;
}

const sampleEveryMs = 250;
const loadMsMax = 10 * 60_000;
const bytesPerMb = 1_024 * 1_024;

export async function openMeteredPages(executable: string, stack: Stack): Promise<MeteredPages> {
  const chromium = await openChromium(executable);
  return {
    load: (paths, rows) => load(chromium, stack, paths, rows),
    [Symbol.asyncDispose]: () => chromium[Symbol.asyncDispose](),
  };
}

const watchTasks = `globalThis.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
  .observe({ type: 'longtask' });`;
const files = `document.querySelector('input[type=file][multiple]')`;
const button = `[...document.querySelectorAll('button.main:enabled')].find((one) => one.textContent === 'Load')`;

async function load(
  chromium: Chromium,
  stack: Stack,
  paths: readonly string[],
  rows: number,
): Promise<PageLoad> {
  await using page = await chromium.openPage();
  await page.goTo(`${stack.gateway}/console#token=${stack.token({ integration: freshName() })}`);
  await page.until(`document.querySelector('h1')`);
  await page.evaluate(`location.hash = '#/load'`);
  await page.until(files);
  await page.evaluate(watchTasks);
  const spentBefore = await spentMs(chromium);
  const heap = watchHeap(page);
  const began = performance.now();
  await page.choose(files, paths);
  await page.until(button, loadMsMax);
  const lookedMs = performance.now() - began;
  await page.evaluate(`${button}.click()`);
  const whole = rows.toLocaleString('en');
  await page.until(`document.body.textContent.includes('Loaded: ${whole} of ${whole} rows in')`, loadMsMax);
  const tookMs = performance.now() - began;
  const { heapMb, pageMb } = await heap.end();
  const cpuMs = (await spentMs(chromium)) - spentBefore;
  return {
    tookMs,
    lookedMs,
    cpuMs,
    residentMb: await rendererMb(chromium),
    longestTaskMs: Number(await page.evaluate('Math.max(0, ...longTasks)')),
    longTasks: Number(await page.evaluate('longTasks.length')),
    heapMb,
    pageMb,
  };
}

function watchHeap(page: ChromiumPage): { end(): Promise<{ heapMb: number; pageMb: number }> } {
  const over = new AbortController();
  let heap = 0;
  let ofPage = 0;
  const sampling = (async () => {
    while (!over.signal.aborted) {
      const now = await page.heaps();
      ofPage = Math.max(ofPage, now.page);
      heap = Math.max(heap, now.page + now.worker);
      await wait(sampleEveryMs);
    }
  })();
  return {
    async end() {
      over.abort();
      await sampling;
      return { heapMb: heap / bytesPerMb, pageMb: ofPage / bytesPerMb };
    },
  };
}

/** The processor time of all processes of the browser. */
const spentMs = async (chromium: Chromium): Promise<number> =>
  (await chromium.processes()).reduce((sum, { cpuTime }) => sum + cpuTime * 1_000, 0);

/** The most that the renderer of the page had resident: that of the process which had most. */
async function rendererMb(chromium: Chromium): Promise<number> {
  const all = (await chromium.processes()).filter(({ type }) => type === 'renderer');
  return Math.max(0, ...all.map(({ id }) => residentMbOf(id)));
}

function residentMbOf(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes ?? 0) / 1_024;
}
