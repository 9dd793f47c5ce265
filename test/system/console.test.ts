// The console in a real browser, on real processes: by roles and keys alone, as a person has it.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Stack } from '@integration-sync/dev/stack';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browsers, openBrowser, type Browser, type OpenedPage } from '../support/browser.ts';
import { expectNoFindings, goTo, openPrefix, press, takePicture } from '../support/console.ts';
import { answer, openReceiver, type Receiver } from '../support/receiver.ts';
import { openClient, startTestStack, type Client } from '../support/stack.ts';

const scopesBut = (left: string): string =>
  [
    'suppliers:write',
    'suppliers:read',
    'products:read',
    'batches:read',
    'syncs:read',
    'webhooks:read',
    'webhooks:write',
  ]
    .filter((scope) => scope !== left)
    .map((scope) => `integration:${scope}`)
    .join(' ');

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const supplier = (externalId: string, name = externalId) => ({ externalId, name });

async function register(client: Client, receiver: Receiver): Promise<string> {
  const { body } = await client.post('/webhook-events', { url: receiver.url, events: ['sync.completed'] });
  return String(body['id']);
}

describe.each(browsers)('the console in %s', (chromium) => {
  const stack = new AsyncDisposableStack();
  let system: Stack;
  let browser: Browser;

  beforeAll(async () => {
    system = stack.use(await startTestStack({ environment: { CONSOLE: 'on', PUBLIC_BASE_PATH: '/sync' } }));
    browser = stack.use(await openBrowser(chromium));
  });
  afterAll(() => stack.disposeAsync());

  interface Opened extends OpenedPage {
    client: Client;
    token: string;
  }

  /** The page of an integration that no other test knows. */
  async function open(
    options: { at?: string; scope?: string; ttlSeconds?: number; hash?: string } = {},
  ): Promise<Opened> {
    const client = openClient(system);
    const { at = system.gateway, hash, ...who } = options;
    const token = system.token({ integration: client.integration, ...who });
    const opened = await browser.open({ viewport: { width: 1280, height: 900 } });
    await opened.page.goto(`${at}/console#token=${token}`);
    if (hash !== undefined) await goTo(opened.page, hash);
    return { ...opened, client, token };
  }

  // Setup: an integration with nothing, and no receiver.
  // Timeline: the sample, its error, a receiver that is gone, disabled, back, enabled, replayed.
  // What this proves: a person with a keyboard gets from the link to a webhook that is alive again.
  it.each([
    ['at the gateway', ''],
    ['behind a prefix', '/sync'],
  ])(
    '%s leads from the link to a dead webhook that is alive again',
    { timeout: 120_000 },
    async (_where, prefix) => {
      await using behind = await openPrefix(system.gateway, prefix);
      await using receiver = await openReceiver();
      const { page, client, complaints, requested } = await open({ at: behind.url });
      await press(button(page, 'Push a sample'));
      await page
        .getByText('2 created, 0 known already, 1 failed.')
        .or(page.getByText('— done'))
        .first()
        .waitFor();
      await press(page.getByRole('link', { name: 'Open the run that has a failure.' }));
      await page.getByRole('cell', { name: /country: expected .* got "Estonia"/ }).waitFor();

      // 410 disables at once; ten failures in a row take 75 s.
      receiver.behave(answer(410));
      const id = await register(client, receiver);
      await press(page.getByRole('link', { name: 'Overview' }));
      await press(button(page, 'Push the sample again'));
      const broken = page.getByRole('link', { name: 'See its attempts' });
      await broken.waitFor();
      await takePicture(page, 'console-overview');
      await press(broken);
      await page.getByText(/^Disabled at .* the receiver answered 410 Gone\.$/).waitFor();
      await page.getByRole('img', { name: 'The last 1 attempts: 1 failed.' }).waitFor();
      await takePicture(page, 'console-webhook');

      receiver.behave(answer(204));
      await press(button(page, 'Enable'));
      await page.getByText('Active.').waitFor();
      await press(button(page, 'Replay …'));
      const dialog = page.getByRole('dialog', { name: 'Send events again' });
      // When it was disabled is filled in, though it is enabled now.
      expect(await dialog.getByRole('textbox', { name: 'After' }).inputValue()).toMatch(/^20.*Z$/);
      await press(dialog.getByRole('button', { name: 'Replay', exact: true }));
      await dialog.getByText('1 event is sent again.').waitFor();
      await receiver.received(2);
      expect(receiver.hits[1]?.headers['webhook-id']).toBe(receiver.hits[0]?.headers['webhook-id']);
      await page.keyboard.press('Escape');
      expect(await button(page, 'Replay …').evaluate((one) => one === one.ownerDocument.activeElement)).toBe(
        true,
      );
      await page.getByRole('img', { name: 'The last 2 attempts: 1 failed.' }).waitFor();
      await press(page.getByRole('searchbox', { name: 'Go to an id' }));
      await page.keyboard.type('SAMPLE-1\n');
      await page.getByText('Nordic Timber AB', { exact: true }).waitFor();

      expect(complaints).toEqual([]);
      expect(new Set(requested.map((url) => new URL(url).origin))).toEqual(
        new Set([new URL(behind.url).origin]),
      );
      expect(requested.filter((url) => !new URL(url).pathname.startsWith(`${prefix}/`))).toEqual([]);
      expect(id).toMatch(/^wh_/);
      await page.context().close();
    },
  );

  it('takes the token out of the address at once, and keeps it in this tab alone', async () => {
    const { page, token, requested, complaints } = await open({ hash: '#/runs' });
    await heading(page, 'Runs').waitFor();
    const session = await page.context().newCDPSession(page);
    const { entries } = await session.send('Page.getNavigationHistory');
    const kept = await page.evaluate<string>(
      'JSON.stringify([location.href, document.title, document.cookie, { ...localStorage }])',
    );
    const databases = await page.evaluate<unknown[]>('indexedDB.databases()');
    expect(
      [kept, ...entries.map(({ url }) => url), ...requested].filter((text) => text.includes(token)),
    ).toEqual([]);
    expect(databases).toEqual([]);
    expect(await page.evaluate<string>(`sessionStorage.getItem('token')`)).toBe(token);
    for (const file of await readdir(system.logFolder))
      expect((await readFile(join(system.logFolder, file), 'utf8')).includes(token)).toBe(false);
    // Another tab has none.
    const other = await browser.openTab(page);
    await other.page.goto(`${system.gateway}/console`);
    await other.page
      .getByRole('textbox', { name: 'Access token or API key' })
      .or(other.page.locator('input[type=password]'))
      .first()
      .waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it(
    'has no finding of axe-core in any view, in both themes, at 390 and 1,280 px',
    { timeout: 180_000 },
    async () => {
      await using receiver = await openReceiver();
      const { page, client, complaints, settled } = await open();
      await heading(page, 'Overview').waitFor();
      await expectNoFindings(page);
      receiver.behave(answer(410));
      const id = await register(client, receiver);
      const pushed = await client.post('/suppliers', { suppliers: [supplier('S-1'), { externalId: 'S-2' }] });
      const run = String(pushed.headers.get('x-sync-id'));
      await receiver.received(1);
      const views: [hash: string, title: string | RegExp][] = [
        ['#/', 'Overview'],
        ['#/runs', 'Runs'],
        [`#/runs/${run}`, run],
        ['#/records', 'Records'],
        ['#/records?externalId=S-1', 'Records'],
        ['#/webhooks', 'Webhooks'],
        [`#/webhooks/${id}`, id],
        ['#/events', 'Events'],
        ['#/nowhere', 'There is no such view'],
      ];
      for (const [hash, title] of views) {
        await goTo(page, hash);
        await heading(page, title).waitFor();
        await settled();
        await expectNoFindings(page);
      }
      await goTo(page, `#/webhooks/${id}`);
      for (const step of ['Replay …', 'Change …', 'Rotate the secret …', 'Delete …']) {
        await press(button(page, step));
        await expectNoFindings(page);
        await page.keyboard.press('Escape');
      }
      await press(button(page, 'Leave'));
      await heading(page, 'Integration Sync').waitFor();
      await expectNoFindings(page);
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );

  it('makes five requests at most for a view', async () => {
    const { page, client, requested, settled } = await open();
    await client.post('/suppliers', { suppliers: [supplier('S-1')] });
    await heading(page, 'Overview').waitFor();
    await settled();
    for (const view of ['runs', 'records', 'webhooks', 'events', '']) {
      const before = requested.length;
      await goTo(page, `#/${view}`);
      await heading(page, /./).waitFor();
      await settled();
      expect({ view, asked: Math.max(requested.length - before, 5) }).toEqual({ view, asked: 5 });
    }
    await page.context().close();
  });

  it('shows markup, right-to-left text and odd ids as text', async () => {
    const markup = '<img src=x onerror=alert(1)><b>bold</b>';
    const { page, client, complaints } = await open({ hash: '#/records' });
    const odd = ['..', 'a/b', '=1+1', markup, 'שלום ‮abc', '?x=1&y#z', "'", '%2e'];
    await client.post('/suppliers', { suppliers: odd.map((id) => supplier(id, markup)) });
    await page.reload();
    await page.getByRole('cell', { name: markup, exact: true }).first().waitFor();
    for (const id of odd) {
      await goTo(page, '#/records');
      await press(page.getByRole('link', { name: id, exact: true }));
      await page.getByRole('article', { name: `The record ${id}`, exact: true }).waitFor();
    }
    expect(await page.locator('#console img, #console b').count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('saves the errors of a run, the first of many, as CSV that stays text', async () => {
    const { page, client } = await open();
    const suppliers = Array.from({ length: 140 }, (_, index) => ({ externalId: `=S-${index}`, name: '' }));
    const pushed = await client.post('/suppliers', { suppliers });
    const run = String(pushed.headers.get('x-sync-id'));
    await goTo(page, `#/runs/${run}`);
    await page.getByText('100 of 140 are kept').waitFor();
    const saving = page.waitForEvent('download');
    await press(button(page, 'Save as CSV'));
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe(`${run}-errors.csv`);
    const [head, first, ...rest] = (await readFile(await saved.path(), 'utf8')).trimEnd().split('\r\n');
    expect(head).toBe('index,externalId,error');
    expect(first).toMatch(/^0,'=S-0,/);
    expect(rest).toHaveLength(99);
    await page.context().close();
  });

  describe('a token', () => {
    it('that is nonsense is refused in one line, and not sent again', async () => {
      const { page, requested, settled } = await browser.open();
      await page.goto(`${system.gateway}/console#token=nonsense`);
      await page.getByRole('alert').getByText('This token is not valid, or has ended.').waitFor();
      await goTo(page, '#/runs');
      await goTo(page, '#/webhooks');
      await settled();
      const asked = requested.filter((url) => /\/(?:token|readyz|openapi\.json|api\/.*)$/.test(url));
      expect(asked).toEqual([`${system.gateway}/token`]);
      await page.context().close();
    });

    it('that ends while the page is open leaves the page, asks nothing more, and another one goes on', async () => {
      const { page, client, requested, complaints, settled } = await open({
        ttlSeconds: 3,
        hash: '#/runs',
      });
      await heading(page, 'Runs').waitFor();
      await page.getByText('No push matches.').waitFor();
      await page.getByRole('alert').getByText('This token has ended.').waitFor();
      expect(await heading(page, 'Runs').isVisible()).toBe(true);
      await settled();
      const asks = (): string[] => requested.filter((url) => url.includes('/api/'));
      const asked = asks();
      await goTo(page, '#/webhooks');
      await settled();
      expect(asks()).toEqual(asked);
      await page
        .getByLabel('Access token or API key')
        .fill(system.token({ integration: client.integration }));
      await page.keyboard.press('Enter');
      await page.getByText('There is none yet.').waitFor();
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    it.each([
      ['syncs:read', '#/runs', 'The history of pushes needs the scope'],
      ['webhooks:read', '#/webhooks', 'The list of webhooks needs the scope'],
      ['products:read', '#/records?kind=products', 'Products needs the scope'],
    ])('without %s has that view off, which names it', async (scope, hash, words) => {
      const { page, complaints } = await open({ scope: scopesBut(scope), hash });
      await page.getByText(`${words} integration:${scope}`).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    it('without webhooks:write has the steps off, which name it', async () => {
      await using receiver = await openReceiver();
      const { page, client } = await open({ scope: scopesBut('webhooks:write') });
      const id = await register(client, receiver);
      await goTo(page, `#/webhooks/${id}`);
      expect(await button(page, 'Pause').isDisabled()).toBe(true);
      expect(await page.getByText('needs integration:webhooks:write').first().isVisible()).toBe(true);
      await page.context().close();
    });
  });

  it('does a double click once, and says what became of a webhook that is gone', async () => {
    await using receiver = await openReceiver();
    const { page, client, requested } = await open();
    await client.post('/suppliers', { suppliers: [supplier('S-1')] });
    const id = await register(client, receiver);
    await goTo(page, `#/webhooks/${id}`);
    for (const [opens, step, path] of [
      ['Replay …', 'Replay', 'replay'],
      ['Rotate the secret …', 'Rotate', 'rotate-secret'],
    ] as const) {
      await press(button(page, opens));
      await page.getByRole('dialog').getByRole('button', { name: step, exact: true }).dblclick();
      await page
        .getByRole('dialog')
        .getByText(/sent again|Rotated/)
        .waitFor();
      expect(requested.filter((url) => url.endsWith(`/${path}`))).toHaveLength(1);
      await page.keyboard.press('Escape');
    }
    await client.send('DELETE', `/webhook-events/${id}`);
    await press(button(page, 'Pause'));
    await page.getByText('There is no webhook').first().waitFor();
    expect(await heading(page, id).isVisible()).toBe(true);
    await page.context().close();
  });

  it(
    'keeps what was there while a service is away, with its age, and asks again',
    { timeout: 120_000 },
    async () => {
      const { page, client } = await open();
      await client.post('/suppliers', { suppliers: [supplier(`S-${randomUUID()}`)] });
      await goTo(page, '#/runs');
      await page.getByRole('cell', { name: 'supplier' }).waitFor();
      system.hold('catalog');
      await system.kill('catalog');
      await page
        .getByText(/What you see is from \d\d:\d\d:\d\d, \d+ s old\. The console asks again\./)
        .waitFor({ timeout: 60_000 });
      expect(await page.getByRole('cell', { name: 'supplier' }).isVisible()).toBe(true);
      await system.resume('catalog');
      await system.ready();
      await page.getByText('What you see is from').waitFor({ state: 'detached', timeout: 60_000 });
      await page.context().close();
    },
  );
});
