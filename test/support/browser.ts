// A real browser without a window: Debian's Chromium, driven by playwright-core, which downloads none. A machine without it runs
// the other tests and is told so; where CI=true it is missing, and browser.test.ts fails.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium, type BrowserContextOptions, type Page, type Request } from 'playwright-core';
import { eventually } from './eventually.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/** For `it.each`: where Chromium is, or nothing. */
export const browsers: readonly string[] = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .filter(isExecutable)
  .slice(0, 1);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface OpenedPage {
  page: Page;
  /** Every address that the page asked for. */
  requested: string[];
  /** Whatever stands in its console, and the exceptions of the page. */
  complaints: string[];
  /** Resolves once nothing is under way but a call that waits for events, and was not for a while. */
  settled: () => Promise<void>;
}

export interface Browser extends AsyncDisposable {
  /** Each page is in a context of its own, as another person's is. */
  open(options?: BrowserContextOptions): Promise<OpenedPage>;
  /** One more tab beside a page. */
  openTab(beside: Page): Promise<OpenedPage>;
}

/**
 * The address bar of each new window is a page of its own, and takes a second of a processor while the page of the test loads.
 * This switch takes the place of playwright-core's, so the features are here that matter to a test and that it turns off, too.
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
];

export async function openBrowser(executablePath: string): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      `--disable-features=${withoutFeatures.join(',')}`,
    ],
  });
  return {
    async open(options = {}) {
      // Transitions are pictures that no test looks at.
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
