// What the console says and does when the gateway, the network or a person's file is not as it should be.
import type { ServerResponse } from 'node:http';
import { allScopes } from '@integration-sync/contracts';
import type { Stack } from '@integration-sync/dev/stack';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browsers, openBrowser, type Browser } from '../support/browser.ts';
import { goTo, openConsole, openProxy, press, type OpenedConsole, type Opening } from '../support/console.ts';
import { openClient, startTestStack } from '../support/stack.ts';
import { makeWorkbook } from '../support/workbooks.ts';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

const files = (page: Page) => page.getByLabel('Files', { exact: true });
const csv = (name: string, text: string | Buffer) => ({
  name,
  mimeType: 'text/csv',
  buffer: Buffer.from(text),
});

/** Wrong answers, which a proxy or a broken connection gives. */
const wrong: Record<string, (outgoing: ServerResponse) => unknown> = {
  'a page of a proxy': (outgoing) =>
    outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<title>Sign in</title>'),
  'an answer that is cut off'(outgoing) {
    outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
    outgoing.write('{"entities":[', () => outgoing.destroy());
  },
};

describe.each(browsers)('the console in %s', (chromium) => {
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

  it.each(Object.entries(wrong))('says that it got %s, and asks again', async (_what, send) => {
    let isWrong = true;
    await using proxy = await openProxy(system.gateway, ({ url = '' }, outgoing) => {
      const isMeant = isWrong && /^\/(?:token|api\/v1\/integration\/sync-runs)\b/.test(url);
      if (isMeant) send(outgoing);
      return isMeant;
    });
    const { page, complaints } = await open('#/runs', { at: proxy.url });
    const words = page.getByText(
      'The answer was cut off, or is not from the gateway. The console asks again.',
    );
    await page.getByText('Asking what the token is for …').waitFor();
    await words.waitFor();
    isWrong = false;
    await page.getByText('No push matches.').waitFor();
    isWrong = true;
    await goTo(page, '#/');
    await words.waitFor();
    expect(complaints.filter((one) => one.includes('TypeError'))).toEqual([]);
    await page.context().close();
  });

  it.each(['0', '3000000'])('waits before it asks again after Retry-After: %s', async (seconds) => {
    let asked = 0;
    await using proxy = await openProxy(system.gateway, ({ url = '' }, outgoing) => {
      if (!url.includes('/sync-runs')) return false;
      asked += 1;
      outgoing.writeHead(503, { 'retry-after': seconds }).end();
      return true;
    });
    const { page, settled } = await open('#/runs', { at: proxy.url });
    await page.getByText('The gateway answered 503. The console asks again.').waitFor();
    await settled();
    expect(asked).toBeLessThan(5);
    await page.context().close();
  });

  it('reads the feed again after an answer 500, and then no longer says that events are away', async () => {
    let isWrong = false;
    await using proxy = await openProxy(system.gateway, ({ url = '' }, outgoing) => {
      const isMeant = isWrong && url.includes('/events?');
      if (isMeant) outgoing.writeHead(500, { 'retry-after': '1' }).end();
      return isMeant;
    });
    const { page, client, requested } = await open('#/events', { at: proxy.url });
    await page.getByText('Nothing yet. It waits.').waitFor();
    isWrong = true;
    await client.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'One' }] });
    await page.getByText('The gateway answered 500. The console asks again.').waitFor();
    isWrong = false;
    // A call that waits for the next event is answered after 25 s.
    await page.getByText('events are away').waitFor({ state: 'detached', timeout: 15_000 });
    expect(requested.some((url) => url.endsWith('wait=0&limit=500'))).toBe(true);
    await page.context().close();
  });

  it.each([
    ['webhooks:read', 'Nothing: no item of the last day failed.'],
    ['syncs:read', 'Nothing: no webhook fails.'],
    ['suppliers:erase', 'Nothing: no webhook fails, and no item of the last day failed.'],
  ])(
    'without the scope %s, reports that nothing is wrong only for data that the token may read',
    async (left, words) => {
      const scope = allScopes.filter((one) => one !== `integration:${left}`).join(' ');
      const { page, complaints } = await open('#/', { scope });
      await page.getByText(words, { exact: true }).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );

  it('says in an open dialog that a step needs another token, once the token has ended', async () => {
    const { page } = await open('#/webhooks');
    await page.route('**/webhook-events', (route) => route.fulfill({ status: 401 }));
    await press(button(page, 'Register a webhook'));
    const dialog = page.getByRole('dialog');
    const register = dialog.getByRole('button', { name: 'Register', exact: true });
    await press(register);
    await dialog.getByText('needs another token').waitFor();
    expect(await register.isDisabled()).toBe(true);
    await page.context().close();
  });

  it('counts an event in the second of its occurrence, and not of its reading', async () => {
    const { page, client, complaints } = await open('#/');
    await page.getByText('None since a minute before this page was opened.').waitFor();
    await page.evaluate(`(() => {
      const channel = new BroadcastChannel('feed:/:${client.integration}');
      const events = [300, 300, 30, 20].map((ago) => ({
        id: crypto.randomUUID(), event: 'supplier.created', timestamp: new Date(Date.now() - 1000 * ago).toISOString(),
        integrationId: '', data: {},
      }));
      channel.postMessage({ events });
      channel.close();
    })()`);
    await page.getByRole('img', { name: '2 events in the last minute, at most 1 in a second.' }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('does not say that the feed lacks an event that comes after many others', async () => {
    const { page } = await open('#/events');
    await page.route('**/events?since=*', (route) =>
      route.fulfill({ json: { events: [], next: 'x', more: true } }),
    );
    await page.route('**/events?after=x*', (route) =>
      route.fulfill({ json: { events: [], next: 'x', more: true } }),
    );
    await goTo(
      page,
      `#/events?id=sync_${Date.now().toString(16).padStart(12, '0')}${'0'.repeat(20)}-created-0`,
    );
    await page.getByText('It is not in the first 2,500 events since its push began.').waitFor();
    expect(await page.getByText('The feed does not hold it').count()).toBe(0);
    await page.context().close();
  });

  it('keeps a screen reader from reading out the age of old data each second', async () => {
    let isWrong = false;
    await using proxy = await openProxy(system.gateway, ({ url = '' }, outgoing) => {
      const isMeant = isWrong && url.includes('/sync-runs');
      if (isMeant) outgoing.writeHead(503).end();
      return isMeant;
    });
    const { page, client } = await open('#/runs', { at: proxy.url });
    await page.getByText('No push matches.').waitFor();
    isWrong = true;
    await client.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'One' }] });
    const age = page.getByText(/^ What you see is from \d\d:\d\d:\d\d, \d+ s old\.$/);
    await age.waitFor({ timeout: 30_000 });
    expect(await age.getAttribute('aria-live')).toBe('off');
    await page.context().close();
  });

  it('wraps long ids, so that they cover and displace no other column', async () => {
    const { page, client } = await open('#/records');
    const id = 'W'.repeat(255);
    await client.post('/suppliers', { suppliers: [{ externalId: id, name: 'One' }] });
    const pushed = await client.post('/suppliers', { suppliers: [{ externalId: id }] });
    const names = page.getByRole('columnheader', { name: 'Name' });
    await page.reload();
    expect((await names.boundingBox())?.x).toBeLessThan(700);
    await goTo(page, `#/runs/${String(pushed.headers.get('x-sync-id'))}`);
    const cell = page.getByRole('cell', { name: id });
    expect(await cell.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    await page.context().close();
  });

  it('takes files that are chosen at the moment at which the view of files appears', async () => {
    const { page, complaints } = await open('#/');
    await page.evaluate(`new MutationObserver((_changes, observer) => {
      const input = document.querySelector('input[type=file]');
      if (input === null) return;
      observer.disconnect();
      const chosen = new DataTransfer();
      chosen.items.add(new File(['externalId,name\\nS-1,One\\n'], 'suppliers.csv'));
      input.files = chosen.files;
      input.dispatchEvent(new Event('change', { bubbles: true }));
    }).observe(document, { childList: true, subtree: true })`);
    await goTo(page, '#/load');
    await press(button(page, 'Load'));
    await page.getByText(/^Loaded: 1 of 1 row in/).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('opens the view of files again after another sign-in', async () => {
    const { page, complaints } = await open('#/load');
    await files(page).waitFor();
    await press(button(page, 'Sign out'));
    await page
      .getByLabel('Access token or API key')
      .fill(system.token({ integration: openClient(system).integration }));
    await page.keyboard.press('Enter');
    await files(page).setInputFiles([csv('suppliers.csv', 'externalId,name\nS-1,One\n')]);
    await press(button(page, 'Load'));
    await page.getByText(/^Loaded: 1 of 1 row in/).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('asks a person for confirmation before a sign-out ends a load', async () => {
    const held = Promise.withResolvers<void>();
    const { page } = await open('#/load');
    await page.route('**/suppliers?details=true', async (route) => {
      await held.promise;
      await route.continue();
    });
    await files(page).setInputFiles([csv('suppliers.csv', 'externalId,name\nS-1,One\n')]);
    await press(button(page, 'Load'));
    await page.getByRole('progressbar').waitFor();
    const asked: string[] = [];
    page.once('dialog', (dialog) => {
      asked.push(dialog.message());
      void dialog.dismiss();
    });
    await press(button(page, 'Sign out'));
    held.resolve();
    await page.getByText(/^Loaded: 1 of 1 row in/).waitFor();
    expect(asked).toEqual(['Files are being loaded. Sign out, and forget this load?']);
    await press(button(page, 'Sign out'));
    await page.getByLabel('Access token or API key').waitFor();
    await page.context().close();
  });

  it('keeps the reading options of an unreadable file, so that a person can correct them', async () => {
    const { page, complaints } = await open('#/load');
    // 0x81 is no character of windows-1252: the message says to fill in the encoding.
    await files(page).setInputFiles([
      csv('suppliers.csv', Buffer.from('externalId,name\nS-1,\u0081\n', 'latin1')),
      csv('suppliers-bom.csv', '\ufeff'),
    ]);
    await page
      .getByText(/byte 0x81 is neither UTF-8 nor windows-1252: fill in “Encoding” below\.$/)
      .waitFor();
    await page.getByText('suppliers-bom.csv is empty.').waitFor();
    await press(button(page, 'Leave out suppliers-bom.csv'));
    const list = page.getByRole('region', { name: 'suppliers.csv', exact: true });
    const encoding = list.getByLabel('Encoding');
    for (const [typed, words] of [
      ['nonsense', '"nonsense" is no encoding'],
      ['macintosh', '1 row'],
    ] as const) {
      await encoding.fill(typed);
      await encoding.press('Enter');
      await page.getByText(words).waitFor();
    }
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('leaves out the sheet that a button names, and keeps the other sheets', async () => {
    const { page } = await open('#/load');
    const rows = [
      ['externalId', 'name'],
      ['1', 'One'],
    ];
    await files(page).setInputFiles([csv('book.xlsx', makeWorkbook({ Suppliers: rows, Products: rows }))]);
    await press(button(page, 'Leave out Suppliers'));
    await page.getByRole('region', { name: 'book.xlsx, sheet Suppliers' }).waitFor({ state: 'detached' });
    expect(await button(page, 'Leave out Products').count()).toBe(1);
    await page.context().close();
  });

  it('names keys of JSON that match no field and are sent unchanged, and leaves out a key that a person marks as not used', async () => {
    const { page } = await open('#/load');
    await files(page).setInputFiles([csv('suppliers.json', '[{"externalId":"S-1","name":"One","vat":"1"}]')]);
    const field = page.getByLabel('The field of column 3, vat');
    expect(await field.locator('option:checked').innerText()).toBe('used as it is');
    await press(button(page, 'Check'));
    await page.getByText(/^unknown field "vat"/).waitFor();
    await field.selectOption('not used');
    await page.getByText('1 column, "vat"').waitFor();
    await press(button(page, 'Load'));
    await page.getByText(/^Loaded: 1 of 1 row in/).waitFor();
    await page.context().close();
  });

  it('keeps events and typed input after the token has ended, and goes on with another token of the integration', async () => {
    const { page, client } = await open('#/events');
    await page.getByText('Nothing yet. It waits.').waitFor();
    await client.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'One' }] });
    await page.getByRole('listitem').filter({ hasText: 'S-1' }).waitFor();
    await page.evaluate(`(() => {
      const channel = new BroadcastChannel('feed:/:${client.integration}');
      const timestamp = new Date(Date.now() - 300_000).toISOString();
      const data = { externalId: 'five minutes ago' };
      channel.postMessage({ events: [{ id: 'x', event: 'supplier.created', timestamp, integrationId: '', data }] });
      channel.close();
    })()`);
    await goTo(page, '#/webhooks');
    await press(button(page, 'Register a webhook'));
    const address = page.getByRole('dialog').getByLabel('Address');
    await address.fill('https://example.com/typed');
    await page.route('**/webhook-events', (route) => route.fulfill({ status: 401 }));
    await press(button(page, 'Register'));
    await page.getByText('needs another token').waitFor();
    await page.unroute('**/webhook-events');
    await page.keyboard.press('Escape');
    const input = page.getByLabel('Access token or API key');
    // An empty field has the browser say that it is to be filled in.
    await press(button(page, 'Open'));
    expect(await input.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
    const alert = page.getByRole('alert');
    for (const token of ['nonsense', system.token({ integration: client.integration })]) {
      await input.fill(token);
      const answered = page.waitForResponse('**/token');
      await page.keyboard.press('Enter');
      await answered;
      if (token === 'nonsense') await alert.getByText('This token is not valid, or has ended.').waitFor();
    }
    await alert.waitFor({ state: 'detached' });
    await press(button(page, 'Register a webhook'));
    expect(await address.inputValue()).toBe('https://example.com/typed');
    await page.keyboard.press('Escape');
    await press(button(page, 'Register a webhook'));
    expect(await address.inputValue()).toBe('');
    await page.keyboard.press('Escape');

    await goTo(page, '#/events');
    const row = page.getByRole('listitem').filter({ hasText: 'S-1' });
    await row.waitFor();
    await page.getByRole('listitem').filter({ hasText: 'five minutes ago' }).waitFor();
    await page.route('**/sync-runs*', (route) => route.fulfill({ status: 401 }));
    await goTo(page, '#/runs');
    await alert.waitFor();
    await goTo(page, '#/events');
    await row.waitFor();
    // Another integration has no part of this.
    const other = openClient(system).integration;
    await input.fill(system.token({ integration: other }));
    await page.keyboard.press('Enter');
    await page.locator('header').getByText(other).waitFor();
    await row.waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('registers one webhook if an answer is lost and a person clicks again', async () => {
    const { page, client } = await open('#/webhooks', { clock: true });
    let sent = 0;
    await page.route('**/webhook-events', async (route) => {
      sent += 1;
      if (sent > 1) return route.continue();
      await route.fetch();
      return route.abort();
    });
    await press(button(page, 'Register a webhook'));
    await page.getByRole('dialog').getByLabel('Address').fill('http://127.0.0.1:9/');
    await press(button(page, 'All'));
    await press(button(page, 'Register'));
    await page.getByText('The gateway does not answer: is the network there?').waitFor();
    // Sooner, the click would count as the second of a double click, which does nothing.
    await page.clock.runFor(1_500);
    await press(button(page, 'Register'));
    await page.getByText('is registered').waitFor();
    expect(sent).toBe(2);
    expect(await client.get('/webhook-events')).toMatchObject({ body: { total: 1 } });
    await page.context().close();
  });

  it('loses no header that a person has typed without a name, or twice', async () => {
    const { page, client } = await open('#/');
    const { body } = await client.post('/webhook-events', {
      url: 'http://127.0.0.1:9/',
      events: ['sync.completed'],
    });
    await goTo(page, `#/webhooks/${String(body['id'])}`);
    await press(button(page, 'Change …'));
    const header = (number: number, name: string) =>
      page.getByRole('group', { name: `Header ${number}` }).getByLabel(name, { exact: true });
    await press(button(page, 'Add a header'));
    await header(1, 'Value').fill('north');
    await press(button(page, 'Change'));
    await page.getByText(/^Headers of each delivery: expected a header name .* got ""$/).waitFor();
    await header(1, 'Name').fill('X-Shop');
    await press(button(page, 'Add a header'));
    await header(2, 'Name').fill('X-Shop');
    await page.getByText('Two headers have the same name.').waitFor();
    expect(await button(page, 'Change').isDisabled()).toBe(true);
    await page.context().close();
  });

  it('measures ages by the clock of the gateway, whatever the clock of the browser', async () => {
    const client = openClient(system);
    const { page, complaints } = await browser.open();
    await page.clock.install({ time: Date.now() + 50 * 3_600_000 });
    await page.goto(`${system.gateway}/console#token=${system.token({ integration: client.integration })}`);
    await page.getByText('None since a minute before this page was opened.').waitFor();
    await client.post('/suppliers', { suppliers: [{ externalId: 'S-1' }] });
    await page.getByText(/^The last one: sync\.completed, \d+ s ago\.$/).waitFor();
    await page.reload();
    await page.getByText(/^1 of 1 supplier item failed at/).waitFor();
    const { body } = await client.post('/webhook-events', {
      url: 'https://127.0.0.1:1/',
      events: ['supplier.created'],
    });
    await client.send('PATCH', `/webhook-events/${String(body['id'])}`, { active: false });
    await goTo(page, `#/webhooks/${String(body['id'])}`);
    await page.getByText(/^Paused by hand at \d\d:\d\d:\d\d\.$/).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('sends its token to no other service of the same origin', async () => {
    const sent: string[] = [];
    await using proxy = await openProxy(
      system.gateway,
      ({ url = '', headers }) => {
        if (headers.authorization !== undefined) sent.push(url.slice(0, 5));
        return false;
      },
      '/test'.length,
    );
    const { page } = await open('#/', { at: `${proxy.url}/test` });
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.goto(`${proxy.url}/live/console`);
    await page.getByLabel('Access token or API key').waitFor();
    await page.goto(`${proxy.url}/test/console`);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(new Set(sent)).toEqual(new Set(['/test']));
    await page.context().close();
  });

  // A replica of another release lacks the script that the page names; a browser may refuse all site data.
  it.each(['the script is missing', 'the browser refuses site data'])(
    'says what to do where %s',
    async (what) => {
      const { page } = await browser.open();
      const words = page.getByText('If it does not appear, load the page again');
      const ends =
        what === 'the script is missing'
          ? page.route('**/console/console-*.js', (route) => route.fulfill({ status: 404 }))
          : page.addInitScript(`Object.defineProperty(window, 'sessionStorage', {
            get() { throw new DOMException('denied', 'SecurityError'); },
          })`);
      await ends;
      await page.goto(`${system.gateway}/console`);
      expect(await words.isVisible()).toBe(true);
      await page.context().close();
      const { page: whole } = await open('#/');
      await whole.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      expect(await whole.locator('#console + p').isVisible()).toBe(false);
      await whole.context().close();
    },
  );

  it.each([
    ['today', 0, 3],
    ['yesterday', 24, 24],
  ])(
    'replays from a printed time of %s, although the clock of the browser is behind',
    async (_day, agoHours, behindHours) => {
      const { page, client } = await open('#/', { clock: true });
      const { body } = await client.post('/webhook-events', {
        url: 'https://127.0.0.1:1/',
        events: ['supplier.created'],
      });
      const createdAt = new Date(Date.parse(String(body['createdAt'])) - agoHours * 3_600_000).toISOString();
      await page.route(`**/webhook-events/${String(body['id'])}?*`, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), createdAt } });
      });
      await page.clock.setSystemTime(Date.now() - behindHours * 3_600_000);
      await page.reload();
      await goTo(page, `#/webhooks/${String(body['id'])}`);
      await press(button(page, 'Replay …'));
      const registered = page.getByText(/^Registered$/).locator('xpath=following-sibling::dd[1]//time');
      const printed = /^[^·]+/.exec((await registered.textContent()) ?? '')?.[0].trim() ?? '';
      const dialog = page.getByRole('dialog').filter({ hasText: 'Send events again' });
      await dialog.getByLabel('After', { exact: true }).fill(printed);
      const since = `${createdAt.slice(0, 19)}.000Z`;
      await expect.poll(() => dialog.locator('pre').first().textContent()).toContain(`"since":"${since}"`);
      await page.context().close();
    },
  );

  it('searches again for an id that was not found before, and reports that the browser refuses to copy', async () => {
    const { page, client, complaints } = await open('#/records?kind=suppliers&externalId=S-1');
    await page.getByText('None of the suppliers has this id.').waitFor();
    await client.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'One' }] });
    await press(button(page, 'Find'));
    await page.getByRole('article', { name: 'The record S-1' }).waitFor();
    expect(complaints).toEqual([]);
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))`);
    await page.getByText('curl', { exact: true }).click();
    await press(button(page, 'Copy'));
    await button(page, 'The browser refuses to copy').waitFor();
    await page.context().close();
  });
});
