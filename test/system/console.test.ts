// The console in a real browser, on real processes: by roles and keys alone, as a person has it.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Stack } from '@integration-sync/dev/stack';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browsers, openBrowser, type Browser } from '../support/browser.ts';
import {
  choose,
  expectNoFindings,
  goTo,
  openConsole,
  openPrefix,
  press,
  takePicture,
  type OpenedConsole,
  type Opening,
} from '../support/console.ts';
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
/** Of the first ten minutes, where it is ticked off. */
const ticked = (page: Page, title: string) =>
  page.getByRole('listitem').filter({ hasText: `${title} — done` });
const supplier = (externalId: string, name = externalId) => ({ externalId, name });

async function register(client: Client, receiver: Receiver): Promise<string> {
  const { body } = await client.post('/webhook-events', { url: receiver.url, events: ['sync.completed'] });
  return String(body['id']);
}

/** What the dying receiver answers. */
const closed = 'closed <b>today</b>';

interface Dying {
  client: Client;
  receiver: Receiver;
  id: string;
}

describe.each(browsers)('the console in %s', (chromium) => {
  const stack = new AsyncDisposableStack();
  let system: Stack;
  let browser: Browser;

  /** The webhook that the last test brings back. */
  let dying: Promise<Dying> | undefined;

  beforeAll(async () => {
    system = stack.use(await startTestStack({ environment: { CONSOLE: 'on', PUBLIC_BASE_PATH: '/sync' } }));
    browser = stack.use(await openBrowser(chromium));
    dying = beginToDie();
  });
  afterAll(() => stack.disposeAsync());

  async function beginToDie(): Promise<Dying> {
    const receiver = stack.use(
      await openReceiver((_hit, response) => void response.writeHead(503).end(closed)),
    );
    const client = openClient(system);
    const { body } = await client.post('/webhook-events', {
      url: receiver.url,
      events: ['supplier.created'],
    });
    await client.post('/suppliers', { suppliers: ['S-1', 'S-2', 'S-3'].map((one) => supplier(one)) });
    return { client, receiver, id: String(body['id']) };
  }

  const open = (opening?: Opening): Promise<OpenedConsole> => openConsole(system, browser, opening);

  // Setup: an integration with nothing, and no receiver.
  // Timeline: the sample, its error, a receiver that is gone, disabled, back, enabled, replayed.
  // What this proves: a person with a keyboard gets from the link to a webhook that is alive again.
  it.each([
    ['at the gateway', ''],
    ['behind a prefix', '/sync'],
  ])(
    'leads from the overview to a disabled webhook, and enables the webhook: %s',
    { timeout: 120_000 },
    async (_where, prefix) => {
      await using behind = await openPrefix(system.gateway, prefix);
      await using receiver = await openReceiver();
      const { page, client, complaints, requested, settled } = await open({ at: behind.url });
      await press(button(page, 'Push a sample'));
      await page
        .getByText('2 created, 0 known already, 1 failed.')
        .or(page.getByText('— done'))
        .first()
        .waitFor();
      await press(page.getByRole('link', { name: 'Open the run that has a failure.' }));
      await page.getByRole('cell', { name: /country: expected .* got "Estonia"/ }).waitFor();
      await page.getByRole('cell', { name: '3 (index 2)', exact: true }).waitFor();

      // 410 disables at once; ten failures in a row take 75 s.
      receiver.behave(answer(410));
      const id = await register(client, receiver);
      await press(page.getByRole('link', { name: 'Overview' }));
      await press(button(page, 'Push the sample again'));
      const broken = page.getByRole('link', { name: 'See its attempts' });
      await broken.waitFor();
      // It is registered, and has been sent something: that is no delivery yet, also for who looks again.
      await page.reload();
      await broken.waitFor();
      await settled();
      await page.getByText('One is registered').waitFor();
      expect(await ticked(page, 'Read why one failed').count()).toBe(1);
      expect(await ticked(page, 'Start a receiver').count()).toBe(0);
      await takePicture(page, 'console-overview');
      await press(broken);
      await page.getByText(/^Disabled at .* the receiver answered 410 Gone\.$/).waitFor();
      await page.getByRole('img', { name: 'The last 1 attempt: 1 failed.' }).waitFor();
      await page.getByRole('cell', { name: 'none: disabled' }).waitFor();

      receiver.behave(answer(204));
      await press(button(page, 'Enable'));
      await page.getByText('Active.').waitFor();
      await press(button(page, 'Replay …'));
      const dialog = page.getByRole('dialog', { name: 'Send events again' });
      // When it was disabled is filled in, though it is enabled now.
      await expect
        .poll(() => dialog.getByRole('textbox', { name: 'After' }).inputValue())
        .toBe(new URLSearchParams(new URL(page.url()).hash.split('?')[1]).get('missedSince'));
      // Enabling has sent nothing old.
      expect(receiver.hits).toHaveLength(1);
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
      await page.getByRole('searchbox', { name: 'Go to an id' }).fill('SAMPLE-3');
      await page.keyboard.press('Enter');
      const why = page.getByText(
        /^SAMPLE-3 failed in a push, not stored: .*It was item 3 \(index 2\) of the run/,
      );
      await press(why.getByRole('link', { name: 'the run' }));
      await page.getByText('Why they failed').waitFor();
      await press(page.getByRole('link', { name: 'Overview' }));
      await ticked(page, 'Start a receiver').waitFor();
      await ticked(page, 'See its delivery').waitFor();
      expect(await button(page, 'Push the sample again').isEnabled()).toBe(true);

      expect(complaints).toEqual([]);
      expect(new Set(requested.map((url) => new URL(url).origin))).toEqual(
        new Set([new URL(behind.url).origin]),
      );
      expect(requested.filter((url) => !new URL(url).pathname.startsWith(`${prefix}/`))).toEqual([]);
      expect(id).toMatch(/^wh_/);
      await page.context().close();
    },
  );

  it('removes the token from the address immediately, and keeps it in this tab alone', async () => {
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

  it('passes axe-core in each view and theme, at 320 and 1,280 px', { timeout: 180_000 }, async () => {
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
      ['#/load', 'Load a file'],
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
    await press(button(page, 'Sign out'));
    await heading(page, 'Integration Sync').waitFor();
    await expectNoFindings(page);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('makes five requests at most for a view', async () => {
    const client = openClient(system);
    await using receiver = await openReceiver();
    const id = await register(client, receiver);
    // What happens while a page is open makes its view ask again.
    await client.post('/suppliers', { suppliers: [supplier('S-1'), { externalId: 'S-2' }] });
    const { page, requested, settled } = await open({ client });
    await heading(page, 'Overview').waitFor();
    await settled();
    // The icon is the browser's.
    const asked = (): number => requested.filter((url) => !url.endsWith('.svg')).length;
    for (const view of [
      'runs',
      'records',
      'load',
      'records?externalId=S-2',
      'records?externalId=S-2&kind=suppliers',
      'webhooks',
      `webhooks/${id}`,
      `webhooks/${id}?outcome=never`,
      'events',
      '',
    ]) {
      const before = asked();
      await goTo(page, `#/${view}`);
      await heading(page, /./).waitFor();
      await settled();
      expect({ view, asked: Math.max(asked() - before, 5) }).toEqual({ view, asked: 5 });
      // What was never delivered is read again when something happens.
      if (!view.endsWith('never')) continue;
      const again = page.waitForRequest(/outcome=succeeded/, { timeout: 15_000 });
      await client.post('/suppliers', { suppliers: [supplier('S-3')] });
      await again;
      await settled();
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

  it('shows the kind of records that the address of the page names, and suppliers by default', async () => {
    const { page } = await open({ hash: '#/records' });
    const kind = page.getByRole('combobox', { name: 'Kind', exact: true });
    for (const [query, words] of [
      ['', 'Suppliers'],
      ['?kind=products', 'Products'],
      ['?kind=suppliers', 'Suppliers'],
      ['?kind=batches', 'Batches'],
      ['?kind=nonsense', 'Suppliers'],
    ] as const) {
      await goTo(page, `#/records${query}`);
      await expect.poll(() => kind.locator('option:checked').allInnerTexts()).toEqual([words]);
    }
    await page.context().close();
  });

  it('saves the first errors of a run as CSV without formulas', async () => {
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
    expect(head).toBe('item,index,externalId,error');
    expect(first).toMatch(/^1,0,'=S-0,/);
    expect(rest).toHaveLength(99);
    await page.context().close();
  });

  describe('a token', () => {
    it('that is malformed is refused with a message, and no view sends the token again', async () => {
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

    it('of a link replaces the token of another integration only after a confirmation', async () => {
      const { page, client, token, complaints } = await open();
      const other = openClient(system);
      const link = `token=${system.token({ integration: other.integration })}`;
      const who = (integration: string) => page.locator('header').getByText(integration, { exact: true });
      const offer = page.getByRole('alert').filter({ hasText: 'A link wants to sign this tab in' });
      const kept = () => page.evaluate<string>(`sessionStorage.getItem('token')`);
      await who(client.integration).waitFor();
      // The link is followed on the open console, and from another page in the same tab.
      for (const follow of [
        () => goTo(page, `#${link}`),
        async () =>
          void (await page.goto('about:blank'), await page.goto(`${system.gateway}/console#${link}`)),
      ]) {
        await follow();
        await offer.getByText(client.integration).waitFor();
        await who(client.integration).waitFor();
        expect([new URL(page.url()).hash, await kept()]).toEqual(['#/', token]);
        await press(offer.getByRole('button', { name: 'Stay as you are' }));
        await offer.waitFor({ state: 'detached' });
        expect(await kept()).toBe(token);
      }
      // The same token is no other.
      await goTo(page, `#token=${token}`);
      await expect.poll(() => new URL(page.url()).hash).toBe('#/');
      expect(await offer.count()).toBe(0);
      await goTo(page, `#${link}`);
      await press(offer.getByRole('button', { name: 'Use the link’s token' }));
      await who(other.integration).waitFor();
      expect([await offer.count(), complaints]).toEqual([0, []]);
      await page.context().close();
    });

    it('that expires while the page is open keeps the page, ends its requests, and can be replaced', async () => {
      const { page, client, requested, complaints, settled } = await open({
        ttlSeconds: 600,
        hash: '#/runs',
        clock: true,
      });
      await heading(page, 'Runs').waitFor();
      await page.getByText('No push matches.').waitFor();
      await page.clock.fastForward(600_000);
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
    ])('without the scope %s disables its view, which names the scope', async (scope, hash, words) => {
      const { page, complaints } = await open({ scope: scopesBut(scope), hash });
      await page.getByText(`${words} integration:${scope}`).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    it('without expectations:read disables the expectations, and the page names the scope', async () => {
      const { page, complaints } = await open({ scope: scopesBut('nothing') });
      await page.getByText('What is expected needs the scope integration:expectations:read').waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    });

    it('without webhooks:write disables the buttons of webhooks, which name the scope', async () => {
      await using receiver = await openReceiver();
      const { page, client } = await open({ scope: scopesBut('webhooks:write') });
      const id = await register(client, receiver);
      await goTo(page, `#/webhooks/${id}`);
      expect(await button(page, 'Pause').isDisabled()).toBe(true);
      expect(await page.getByText('needs integration:webhooks:write').first().isVisible()).toBe(true);
      await page.context().close();
    });
  });

  it('sets and removes an expectation of pushes', async () => {
    const { page, client, complaints } = await open();
    const hours = page.getByRole('textbox', { name: 'Hours between two pushes of products' });
    await hours.fill('26');
    await press(button(page, 'Set for products'));
    await page.getByText('Set.', { exact: true }).waitFor();
    expect((await client.get('/expectations')).body).toMatchObject({
      suppliers: null,
      products: { everyHours: 26 },
    });
    await hours.fill('745');
    expect(await button(page, 'Set for products').isDisabled()).toBe(true);
    await page.getByText('a whole number from 1 to 744').waitFor();
    await hours.fill('');
    await press(button(page, 'Set for products'));
    await page.getByText('Nothing is expected any more.').waitFor();
    expect((await client.get('/expectations')).body).toMatchObject({ products: null });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('sends one request for a double click, and reports a webhook that was deleted meanwhile', async () => {
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

  it('registers a receiver on this machine, names wrong fields of the form, and shows the secret', async () => {
    await using receiver = await openReceiver();
    const { page, complaints } = await open({ hash: '#/webhooks' });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await press(button(page, 'Register a webhook'));
    const dialog = page.getByRole('dialog');
    await dialog.getByText('http://127.0.0.1:9000/').waitFor();
    const confirm = dialog.getByRole('button', { name: 'Register', exact: true });
    await dialog.getByRole('textbox', { name: 'Address' }).fill('ftp://receiver');
    await press(confirm);
    for (const words of [/Address: \w/, /Events: expected/]) await dialog.getByText(words).waitFor();
    await dialog.getByRole('textbox', { name: 'Address' }).fill(receiver.url);
    await press(dialog.getByRole('button', { name: 'All', exact: true }));
    // The dialog is closed before the answer, opened, pressed again and closed: one webhook, and its secret is there.
    const { promise: held, resolve: answerNow } = Promise.withResolvers<void>();
    let sent = 0;
    await page.route('**/webhook-events', async (asked) => {
      sent += 1;
      await held;
      await asked.continue();
    });
    await press(confirm);
    await page.keyboard.press('Escape');
    await press(button(page, 'Register a webhook'));
    await press(confirm);
    await page.keyboard.press('Escape');
    answerNow();
    await page.getByText('1 of 1 webhook', { exact: true }).waitFor();
    expect(sent).toBe(1);
    await press(button(page, 'Register a webhook'));
    await dialog.getByText(/Your receiver checks with it .*docs\/receiving-webhooks\.md/).waitFor();
    await press(dialog.getByRole('button', { name: 'Copy', exact: true }));
    await dialog.getByRole('button', { name: 'Copied', exact: true }).waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toMatch(/^whsec_/);
    await expectNoFindings(page);
    await page.keyboard.press('Escape');
    await page.getByText('1 of 1 webhook', { exact: true }).waitFor();
    // The browser's own words for the first answer.
    expect(complaints).toEqual([expect.stringContaining('400')]);
    await page.context().close();
  });

  it(
    'keeps the last data of an unavailable service, with its age, and retries',
    { timeout: 120_000 },
    async () => {
      const client = openClient(system);
      await client.post('/suppliers', { suppliers: [supplier(`S-${randomUUID()}`)] });
      const { page } = await open({ client, hash: '#/runs', clock: true });
      await page.getByRole('cell', { name: 'supplier' }).waitFor();
      system.hold('catalog');
      await system.kill('catalog');
      // Nothing happens any more: the page looks by itself.
      await page.clock.runFor(81_000);
      await page
        .getByText(/What you see is from \d\d:\d\d:\d\d, \d+ (?:s|min) old\. The console asks again\./)
        .waitFor({ timeout: 60_000 });
      expect(await page.getByRole('cell', { name: 'supplier' }).isVisible()).toBe(true);
      await system.resume('catalog');
      await system.ready();
      await page.getByText('What you see is from').waitFor({ state: 'detached', timeout: 60_000 });
      await page.context().close();
    },
  );

  it('shows and changes the description, headers and limits of a webhook', async () => {
    await using receiver = await openReceiver();
    const { page, client } = await open();
    const { body } = await client.post('/webhook-events', { url: receiver.url, events: ['sync.completed'] });
    await goTo(page, `#/webhooks/${String(body['id'])}`);
    await press(page.getByRole('button', { name: 'Change …', exact: true }));
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Description' }).fill('the warehouse');
    await dialog.getByRole('checkbox', { name: 'Comes back by itself after failures' }).press(' ');
    await dialog.getByRole('spinbutton', { name: 'Deliveries in flight' }).fill('1');
    await press(dialog.getByRole('button', { name: 'Change', exact: true }));
    await dialog.getByText('Changed.').waitFor();
    await page.keyboard.press('Escape');
    const changed = await client.get(`/webhook-events/${String(body['id'])}?details=true`);
    expect(changed.body['details']).toMatchObject({
      description: 'the warehouse',
      recover: true,
      inFlightMax: 1,
    });
    await page.getByText('the warehouse').waitFor();
    await page.context().close();
  });

  it('keeps the input of a form when another caller changes the webhook', async () => {
    await using receiver = await openReceiver();
    const client = openClient(system);
    const { body } = await client.post('/webhook-events', { url: receiver.url, events: ['sync.completed'] });
    const path = `/webhook-events/${String(body['id'])}`;
    const { page } = await open({ client, hash: `#/webhooks/${String(body['id'])}`, clock: true });
    await press(page.getByRole('button', { name: 'Change …', exact: true }));
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Description' }).fill('the warehouse');
    await client.send('PATCH', path, { url: `${receiver.url}/moved` });
    await page.clock.runFor(81_000);
    const address = dialog.getByRole('textbox', { name: 'Address' });
    await expect.poll(() => address.inputValue()).toBe(`${receiver.url}/moved`);
    expect(await dialog.getByRole('textbox', { name: 'Description' }).inputValue()).toBe('the warehouse');
    await page.context().close();
  });

  it('lists the receiver’s answers to the twelve deliveries of a drill beside the expected answers', async () => {
    await using receiver = await openReceiver();
    const { page, client, complaints } = await open();
    const { body } = await client.post('/webhook-events', { url: receiver.url, events: ['sync.completed'] });
    await goTo(page, `#/webhooks/${String(body['id'])}`);
    await press(button(page, 'Drill'));
    await page
      .locator('output.bad')
      .getByText('5 checks of 12 failed: the list says what to mend.')
      .waitFor({ timeout: 30_000 });
    const checks = page.getByRole('region', { name: 'Checks of the drill' });
    expect(await checks.getByRole('row').count()).toBe(1 + 12);
    await checks.getByRole('row', { name: /^first-delivery 2xx 204 .* none$/ }).waitFor();
    await checks.getByRole('row', { name: /^no-signature 4xx 204 .* refuse it with 4xx\.$/ }).waitFor();
    await expectNoFindings(page);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  // Setup: a webhook with a header.
  // What this proves: the page shows a header's name and never its value, a new list replaces all headers, the receiver gets them,
  // and an empty list removes them.
  it('shows, replaces and clears the header names of a webhook', async () => {
    await using receiver = await openReceiver();
    const { page, client, requested, complaints } = await open();
    const { body } = await client.post('/webhook-events', {
      url: receiver.url,
      events: ['sync.completed'],
      headers: { 'X-Shop': 'north' },
    });
    const id = String(body['id']);
    await goTo(page, `#/webhooks/${id}`);
    await page.getByRole('definition').filter({ hasText: 'X-Shop' }).waitFor();
    const dialog = page.getByRole('dialog');
    const inDialog = (name: string) => dialog.getByRole('button', { name, exact: true });
    const header = (number: number, name: string) =>
      dialog.getByRole('group', { name: `Header ${number}` }).getByLabel(name, { exact: true });
    await press(page.getByRole('button', { name: 'Change …', exact: true }));
    expect(await inDialog('Change').isDisabled()).toBe(true);
    await press(inDialog('Replace them'));
    await page.getByRole('dialog').getByText(`You are signed in to ${client.integration}.`).waitFor();
    expect(await header(1, 'Name').inputValue()).toBe('X-Shop');
    expect(await header(1, 'Value').inputValue()).toBe('');
    await header(1, 'Value').fill('south-secret');
    await press(inDialog('Add a header'));
    await header(2, 'Name').fill('X-Team');
    await header(2, 'Value').fill('team-secret');
    await expectNoFindings(page);
    await press(inDialog('Change'));
    await dialog.getByText('Changed.').waitFor();
    expect(await page.content()).not.toMatch(/south-secret|team-secret/);
    await page.keyboard.press('Escape');
    await page.getByRole('definition').filter({ hasText: 'X-Shop, X-Team' }).waitFor();
    await client.post('/suppliers', { suppliers: [{ externalId: 'S-1', name: 'one' }] });
    const [hit] = await receiver.received(1);
    expect(hit?.headers).toMatchObject({ 'x-shop': 'south-secret', 'x-team': 'team-secret' });

    await press(page.getByRole('button', { name: 'Change …', exact: true }));
    await press(inDialog('Replace them'));
    await press(inDialog('Remove header 2'));
    await press(inDialog('Remove header 1'));
    await press(inDialog('Change'));
    await dialog.getByText('Changed.').waitFor();
    const cleared = await client.get(`/webhook-events/${id}?details=true`);
    expect(cleared.body['details']).toMatchObject({ headerNames: [] });
    expect(requested.filter((url) => url.includes('secret') && !url.includes('rotate'))).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  // Setup: a receiver that answers 503 with words until its webhook is disabled, after ten failures in 75 s. It has begun before
  // all other tests of this file.
  // Timeline: why, enabled, all that was not delivered is sent, then one event again.
  // What this proves: a person sees why, and brings back a webhook with what was given up before it was disabled.
  it(
    'shows the body and the answer of a failed attempt, enables the webhook, and sends one event again',
    { timeout: 180_000 },
    async () => {
      const { client, receiver, id } = await (dying ?? beginToDie());
      dying = undefined;
      const { page, complaints } = await open({ client, hash: `#/webhooks/${id}` });
      await page
        .getByText(/^Disabled at \d\d:\d\d:\d\d after 10 failures, the last a 503\.$/)
        .waitFor({ timeout: 120_000 });

      // Two were given up after four attempts, the third waited after two. Each says what it is about.
      const attempts = page.getByRole('region', { name: 'Attempts, newest first' });
      await attempts.getByRole('row', { name: /S-2 4 503 .*given up$/ }).waitFor();
      await takePicture(page, 'console-webhook', 960);
      await choose(page.getByRole('combobox', { name: 'Outcome' }), 'Never');
      await page.getByText('The last attempt of each event that was never delivered').waitFor();
      expect(await attempts.getByRole('row').count()).toBe(1 + 3);
      await attempts.getByRole('row', { name: /S-3 2 503 .*none: disabled$/ }).waitFor();
      await press(page.getByRole('link', { name: 'supplier.created' }).first());
      await page.getByLabel('The body as it was sent').getByText('"externalId"').waitFor();
      expect(await page.getByText(closed, { exact: true }).count()).toBeGreaterThan(0);
      await expectNoFindings(page);
      await page.goBack();

      await press(button(page, 'Send a test'));
      await page.locator('output.bad').getByText('Not delivered: a 503 after').waitFor();
      receiver.behave(answer(204));
      const hits = receiver.hits.length;
      await press(button(page, 'Enable'));
      await page.getByText('Active.').waitFor();
      await press(button(page, 'Replay …'));
      const dialog = page.getByRole('dialog');
      await dialog.getByText(/^It was disabled .* enabling alone sends nothing old\.$/).waitFor();
      await dialog.getByText('2 events were given up before, after four attempts each').waitFor();
      await expectNoFindings(page);
      const after = dialog.getByRole('textbox', { name: 'After' });
      const earliest = await after.inputValue();
      await press(dialog.getByRole('button', { name: 'From the disabling alone' }));
      expect(earliest < (await after.inputValue())).toBe(true);
      await after.fill('when it began');
      await dialog.getByText(/^After: a time as this page shows it, such as \d\d:\d\d:\d\d or/).waitFor();
      expect(await dialog.getByRole('button', { name: 'Replay', exact: true }).isDisabled()).toBe(true);
      // As the page prints it.
      await after.fill(earliest.replace('T', ' ').replace(/\.\d+Z$/, ' UTC'));
      expect(receiver.hits).toHaveLength(hits);
      await press(dialog.getByRole('button', { name: 'Replay', exact: true }));
      await dialog.getByText('3 events are sent again.').waitFor();
      await receiver.received(hits + 3);
      await page.keyboard.press('Escape');
      // The list is still narrowed, and shows what has become of it.
      await page.getByText('No attempt matches.').waitFor({ timeout: 4_000 });

      await choose(page.getByRole('combobox', { name: 'Outcome' }), 'Succeeded');
      await press(page.getByRole('link', { name: 'supplier.created' }).first());
      await page.getByLabel('The body as it was sent').waitFor();
      const sent = new URL(page.url()).hash.replace(/\?.*/, '').split('/').at(-1);
      await press(button(page, 'Send again'));
      await page.getByText('The event is sent again.').waitFor();
      const [again] = (await receiver.received(hits + 3 + 1)).slice(-1);
      expect(again?.headers['webhook-id']).toBe(sent);
      await page.getByText('succeeded: 204').nth(1).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );
});
