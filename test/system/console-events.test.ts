// The live events of the console, in a real browser on real processes.
import type { Stack } from '@integration-sync/dev/stack';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { awake } from '../support/awake.ts';
import { browsers, openBrowser, type Browser } from '../support/browser.ts';
import {
  expectNoFindings,
  goTo,
  openConsole,
  press,
  type OpenedConsole,
  type Opening,
} from '../support/console.ts';
import { startTestStack, type Client } from '../support/stack.ts';

const push = async (client: Client, ...ids: string[]): Promise<string> => {
  const answer = await client.post('/suppliers', {
    suppliers: ids.map((externalId) => ({ externalId, name: externalId })),
  });
  return String(answer.headers.get('x-sync-id'));
};
const rows = (page: Page) => page.getByRole('region', { name: 'Live events' }).getByRole('listitem');
const listings = (requested: readonly string[]): string[] =>
  requested.filter((url) => url.includes('/sync-runs?'));
const row = (page: Page, text: string) => rows(page).filter({ hasText: text });

describe.each(browsers)('the events of the console in %s', (chromium) => {
  const stack = new AsyncDisposableStack();
  let system: Stack;
  let browser: Browser;

  beforeAll(async () => {
    system = stack.use(await startTestStack({ environment: { CONSOLE: 'on' } }));
    browser = stack.use(await openBrowser(chromium));
  });
  afterAll(() => stack.disposeAsync());

  const open = (hash: string, opening: Opening = {}): Promise<OpenedConsole> =>
    openConsole(system, browser, { ...opening, hash });

  it('appear as they happen, can be paused and filtered, and are found by id', async () => {
    const { page, client, complaints } = await open('#/events');
    await page.getByText('Nothing yet. It waits.').waitFor();
    const run = await push(client, 'S-1', 'S-2');
    await row(page, 'S-2').waitFor();
    expect(await rows(page).count()).toBe(3);

    await press(page.getByRole('button', { name: 'Pause', exact: true }));
    await push(client, 'S-3');
    await goTo(page, '#/events?kind=supplier.created');
    await expect.poll(() => rows(page).count()).toBe(2);
    await press(page.getByRole('button', { name: 'Go on', exact: true }));
    await row(page, 'S-3').waitFor();
    await page.getByRole('searchbox', { name: 'Has in its data' }).fill('S-2');
    await expect.poll(() => rows(page).count()).toBe(1);

    await page.getByRole('searchbox', { name: 'Go to an id' }).fill(`${run}-created-1`);
    await page.keyboard.press('Enter');
    const found = page.getByRole('region', { name: 'The event', exact: true });
    await found.getByText('"externalId": "S-2"').waitFor();
    await expectNoFindings(page);
    await goTo(page, '#/');
    await page.getByRole('img', { name: /^5 events in the last minute/ }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it.each([
    ['has expired', 409],
    ['was sealed with a removed key', 400],
  ])('show from which time on events are missing when a cursor %s, and go on', async (_what, status) => {
    const { page, client } = await open('#/events');
    await page.getByText('Nothing yet. It waits.').waitFor();
    await push(client, 'S-1');
    await row(page, 'S-1').waitFor();
    // A place is kept for seven days.
    await page.route(
      (url) => url.searchParams.has('after'),
      (route) =>
        route.fulfill({
          status,
          contentType: 'application/problem+json',
          body: JSON.stringify({ status, code: 'conflict', detail: 'The place is no longer kept.' }),
        }),
      { times: 1 },
    );
    await push(client, 'S-2');
    await page.getByText(/^Events are missing since \d\d:\d\d:\d\d/).waitFor({ timeout: 40_000 });
    await push(client, 'S-3');
    await row(page, 'S-3').waitFor();
    expect(await row(page, 'S-1').count()).toBe(1);
    await page.context().close();
  });

  // Setup: eight tabs of one person, which have six connections to the gateway together.
  // What this proves: one call waits for all of them, each loads, and each is told.
  it('are requested by one tab for all eight tabs, and each tab loads within a second', async () => {
    const { page, client, link } = await open('#/events');
    await page.getByText('Nothing yet. It waits.').waitFor();
    const waiting = new Set<unknown>();
    const most: number[] = [];
    page.context().on('request', (request) => {
      if (!request.url().includes('wait=')) return;
      waiting.add(request);
      most.push(waiting.size);
    });
    page.context().on('requestfinished', (request) => void waiting.delete(request));
    page.context().on('requestfailed', (request) => void waiting.delete(request));
    const tabs = [page];
    const tookMs: number[] = [];
    for (let tab = 1; tab < 8; tab += 1) {
      const { page: other } = await browser.openTab(page);
      const begun = awake();
      await other.goto(link);
      await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await other.getByText('There is none yet.').waitFor();
      tookMs.push(awake() - begun);
      await goTo(other, '#/events');
      tabs.push(other);
    }
    for (const id of ['S-1', 'S-2', 'S-3']) {
      await push(client, id);
      for (const tab of tabs) await row(tab, id).first().waitFor();
    }
    process.stderr.write(`Eight tabs: loaded in ${tookMs.map((ms) => ms.toFixed(0)).join(', ')} ms.\n`);
    expect(new Set(most)).toEqual(new Set([1]));
    expect(tookMs.filter((ms) => ms > 5_000)).toEqual([]);
    await page.context().close();
  });

  it('reach another tab once the token of the requesting tab is refused, and the first tab again after it signs in with the same token', async () => {
    const { page, client, link, token } = await open('#/events');
    await page.getByText('Nothing yet. It waits.').waitFor();
    const { page: other } = await browser.openTab(page);
    await other.goto(link);
    await goTo(other, '#/events');
    await other.getByText('Nothing yet. It waits.').waitFor();
    await page.route('**/events?*', (route) => route.fulfill({ status: 401 }));
    await push(client, 'S-1');
    await page.getByRole('alert').waitFor();
    await push(client, 'S-2');
    await row(other, 'S-2').waitFor();
    await page.unroute('**/events?*');
    await other.close();
    await page.getByLabel('Access token or API key').fill(token);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await push(client, 'S-3');
    await row(page, 'S-3').waitFor();
    expect(await row(page, 'S-1').count()).toBe(1);
    await page.context().close();
  });

  // Setup: a page that nobody sees, as one in a tab behind another.
  // What this proves: whatever view it shows, it asks nothing until it is seen; then it asks at once.
  it(
    'are not requested by a hidden tab, and a hidden tab sends no other request',
    { timeout: 120_000 },
    async () => {
      const { page, client, requested, settled } = await open('#/', { clock: true });
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await settled();
      const show = (state: 'hidden' | 'visible'): Promise<void> =>
        page.evaluate(
          `Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
         document.dispatchEvent(new Event('visibilitychange'))`,
        );
      const asked = (): string[] => requested.filter((url) => !url.endsWith('.svg'));
      await show('hidden');
      const before = asked();
      for (const hash of ['#/runs', '#/webhooks', '#/records', '#/events', '#/']) {
        await goTo(page, hash);
        await page.getByRole('heading', { level: 1 }).waitFor();
      }
      await push(client, 'S-1');
      // A view that is seen asks once in 80 seconds at least.
      await page.clock.runFor(81_000);
      await settled();
      expect(asked()).toEqual(before);
      await show('visible');
      await page
        .getByRole('img', { name: 'The last 1 push: 1 item, 0 of them failed. The largest had 1.' })
        .waitFor();
      await page.getByText('sync.completed').waitFor();
      await page.context().close();
    },
  );

  // Timeline: nothing happens for 45 seconds, a push, nothing again.
  // What this proves: the feed makes a view ask, and time alone makes it look once a minute.
  it(
    'reload the current view; without new events the view sends no request',
    { timeout: 120_000 },
    async () => {
      const { page, client, requested, settled } = await open('#/runs', { clock: true });
      await page.getByText('No push matches.').waitFor();
      const now = (): Promise<number> => page.evaluate<number>('Date.now()');
      const answeredAt = await now();
      await expect.poll(() => requested.some((url) => url.includes('wait='))).toBe(true);
      await settled();
      const asked = listings(requested).length;
      await page.clock.runFor(45_000);
      await settled();
      expect(listings(requested)).toHaveLength(asked);
      await push(client, 'S-1');
      await page.getByRole('cell', { name: 'supplier' }).waitFor();
      // Time alone makes it look after a minute.
      expect((await now()) - answeredAt).toBeLessThan(55_000);
      expect(listings(requested)).toHaveLength(asked + 1);
      // What follows an event is looked for once more.
      await page.clock.runFor(21_000);
      await expect.poll(() => listings(requested).length).toBe(asked + 2);
      await settled();
      await page.clock.runFor(40_000);
      await settled();
      expect(listings(requested)).toHaveLength(asked + 2);
      await page.clock.runFor(45_000);
      await expect.poll(() => listings(requested).length).toBe(asked + 3);
      await page.context().close();
    },
  );

  it('are replaced by periodic reloads without the scope of events', { timeout: 120_000 }, async () => {
    const scope = 'integration:syncs:read';
    const { page, requested, settled } = await open('#/runs', { clock: true, scope });
    await page.getByText('No push matches.').waitFor();
    const asked = listings(requested).length;
    await page.clock.runFor(21_000);
    await settled();
    expect(listings(requested).length).toBeGreaterThan(asked);
    await page.context().close();
  });

  // An hour of 50 events a second, told as another tab tells them.
  it('use no more memory after an hour than after five minutes', { timeout: 120_000 }, async () => {
    const { page, client } = await open('#/events');
    await page.getByText('Nothing yet. It waits.').waitFor();
    const session = await page.context().newCDPSession(page);
    const heapBytes = async (): Promise<number> => {
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).usedSize;
    };
    const tell = (seconds: number): Promise<void> =>
      page.evaluate(
        `(async () => {
          const channel = new BroadcastChannel('feed:/:${client.integration}');
          for (let second = 0; second < ${seconds}; second += 10) {
            const events = Array.from({ length: 500 }, (_, at) => ({
              id: crypto.randomUUID(), event: 'supplier.created', timestamp: new Date().toISOString(),
              integrationId: '',
              data: {
                externalId: second + 10 >= ${seconds} && at === 499 ? 'last-of-${seconds}' : crypto.randomUUID(),
                internalId: crypto.randomUUID(),
              },
            }));
            channel.postMessage({ events });
            // Each message is taken, and the rows of five minutes are drawn together: to draw 500 new ones is what takes time.
            if (second % 300 === 290) await new Promise((resolve) => setTimeout(resolve, 300));
          }
          channel.close();
        })()`,
      );
    await tell(300);
    await page.getByText('The last 500 events.').waitFor();
    await row(page, 'last-of-300').waitFor();
    const early = await heapBytes();
    await tell(3_300);
    await row(page, 'last-of-3300').waitFor();
    const late = await heapBytes();
    process.stderr.write(`Heap: ${early} bytes after five minutes, ${late} after an hour.\n`);
    expect(await rows(page).count()).toBe(500);
    expect(late).toBeLessThanOrEqual(1.2 * early);
    await page.context().close();
  });
});
