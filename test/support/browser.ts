// A real browser without a window: Debian's Chromium, driven by playwright-core, which brings no browser. A machine
// without Chromium runs only the other tests, and says so; with CI=true, browser.test.ts fails there.
// `chromium-headless-shell` is the same browser without the parts for a window and a profile. A browser context of it
// takes half the processor time, so tests prefer it where it is installed.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type BrowserContextOptions, type Page, type Request } from 'playwright-core';
import { eventually } from './eventually.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** The path of a Chromium with profiles, or no element if this machine has none: `it.each` then runs no test. */
export const browsersWithProfile = findFirst(names);

/** The path of a Chromium, or no element if this machine has none. */
export const browsers = findFirst(['chromium-headless-shell', ...names]);

function findFirst(programs: readonly string[]): readonly string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const paths = programs.flatMap((name) => folders.map((folder) => join(folder, name)));
  return paths.filter(isExecutable).slice(0, 1);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Chromium's address bar is a page of its own, which takes a second of processor time in each new window. The switch
 * `--disable-features` replaces that of playwright-core, so this list repeats those of its features that matter to a
 * test.
 */
const withoutFeatures = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  // A renderer process in advance for each new window, which no test uses.
  'SpareRendererForSitePerProcess',
];

const switches: readonly string[] = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  `--disable-features=${withoutFeatures.join(',')}`,
];

export interface OpenedPage {
  page: Page;
  /** Every address that the page asked for. */
  requested: string[];
  /** The lines of the page's console, and the page's uncaught exceptions. */
  complaints: string[];
  /** Resolves once no request but the long poll for events has been under way for 500 ms. */
  settled: () => Promise<void>;
}

export interface Browser extends AsyncDisposable {
  /** Opens a page in a browser context of its own, so that it shares no storage with other pages. */
  open(options?: BrowserContextOptions): Promise<OpenedPage>;
  /** Opens one more tab in the browser context of a page, as the same person does. */
  openTab(beside: Page): Promise<OpenedPage>;
}

export async function openBrowser(executablePath: string): Promise<Browser> {
  const browser = await chromium.launch({ executablePath, args: [...switches] });
  return {
    async open(options = {}) {
      // No test looks at CSS transitions, which delay what a test waits for.
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
      return listenTo(await context.newPage());
    },
    openTab: async (beside) => listenTo(await beside.context().newPage()),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

const stillMs = 500;
const isOfFeed = (request: Request): boolean => /\/events\?/.test(request.url());

export function listenTo(page: Page): OpenedPage {
  const requested: string[] = [];
  const complaints: string[] = [];
  const underWay = new Set<Request>();
  let endedAt = performance.now();
  const end = (request: Request): void => {
    underWay.delete(request);
    endedAt = performance.now();
  };
  page.on('request', (request) => {
    requested.push(request.url());
    if (!isOfFeed(request)) underWay.add(request);
  });
  page.on('requestfinished', end).on('requestfailed', end);
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(String(error)));
  const isStill = (): boolean => underWay.size === 0 && performance.now() - endedAt > stillMs;
  return {
    page,
    requested,
    complaints,
    async settled() {
      endedAt = performance.now();
      await eventually(isStill, Boolean, 30_000);
    },
  };
}
