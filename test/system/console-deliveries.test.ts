// One delivery in the console: what was sent and answered, and sending it again. In a real browser, on real processes.
import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browsers, openBrowser, type Browser } from '../support/browser.ts';
import { expectNoFindings, goTo, press } from '../support/console.ts';
import { answer, openReceiver } from '../support/receiver.ts';
import { openClient, startTestStack } from '../support/stack.ts';

describe.each(browsers)('a delivery of the console in %s', (chromium) => {
  const stack = new AsyncDisposableStack();
  let system: Stack;
  let browser: Browser;

  beforeAll(async () => {
    system = stack.use(await startTestStack({ environment: { CONSOLE: 'on' } }));
    browser = stack.use(await openBrowser(chromium));
  });
  afterAll(() => stack.disposeAsync());

  // Setup: a receiver that answers 503 with words until its webhook is disabled, after ten failures in 75 s.
  // What this proves: a person sees why, brings it back, replays what it missed, and sends one event again.
  it(
    'shows body and answer of a dead webhook, which is brought back and sent one again',
    { timeout: 180_000 },
    async () => {
      const words = 'closed <b>today</b>';
      await using receiver = await openReceiver((_hit, response) => void response.writeHead(503).end(words));
      const client = openClient(system);
      const { page, complaints } = await browser.open({ viewport: { width: 1280, height: 900 } });
      const registered = await client.post('/webhook-events', {
        url: receiver.url,
        events: ['supplier.created'],
      });
      const id = String(registered.body['id']);
      const suppliers = ['S-1', 'S-2', 'S-3'].map((externalId) => ({ externalId, name: externalId }));
      await client.post('/suppliers', { suppliers });
      await page.goto(`${system.gateway}/console#token=${system.token({ integration: client.integration })}`);
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await goTo(page, `#/webhooks/${id}`);
      await page
        .getByText(/^Disabled at \d\d:\d\d:\d\d after 10 failures, the last a 503\.$/)
        .waitFor({ timeout: 120_000 });

      await press(page.getByRole('link', { name: 'supplier.created' }).first());
      await page.getByLabel('The body as it was sent').getByText('"externalId"').waitFor();
      expect(await page.getByText(words, { exact: true }).count()).toBeGreaterThan(0);
      await expectNoFindings(page);
      await page.goBack();

      receiver.behave(answer(204));
      const hits = receiver.hits.length;
      await press(page.getByRole('button', { name: 'Enable', exact: true }));
      await page.getByText('Active.').waitFor();
      await press(page.getByRole('button', { name: 'Replay …', exact: true }));
      const dialog = page.getByRole('dialog');
      await press(dialog.getByRole('button', { name: 'Replay', exact: true }));
      await dialog.getByText(/^\d events? (?:is|are) sent again\.$/).waitFor();
      const missed = Number.parseInt(await dialog.getByRole('status').last().innerText(), 10);
      await receiver.received(hits + missed);
      await page.keyboard.press('Escape');

      await press(page.getByRole('link', { name: 'supplier.created' }).first());
      await page.getByLabel('The body as it was sent').waitFor();
      const sent = new URL(page.url()).hash.split('/').at(-1);
      await press(page.getByRole('button', { name: 'Send again', exact: true }));
      await page.getByText('It is sent again.').waitFor();
      const [again] = (await receiver.received(hits + missed + 1)).slice(-1);
      expect(again?.headers['webhook-id']).toBe(sent);
      await page.getByText('succeeded: 204').nth(1).waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );

  it('shows and changes what a webhook is besides its address', async () => {
    await using receiver = await openReceiver();
    const client = openClient(system);
    const { page } = await browser.open({ viewport: { width: 1280, height: 900 } });
    const { body } = await client.post('/webhook-events', { url: receiver.url, events: ['sync.completed'] });
    await page.goto(`${system.gateway}/console#token=${system.token({ integration: client.integration })}`);
    await goTo(page, `#/webhooks/${String(body['id'])}`);
    await press(page.getByRole('button', { name: 'Change …', exact: true }));
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Description' }).fill('the warehouse');
    await dialog.getByRole('checkbox', { name: 'Comes back by itself after failures' }).press(' ');
    await dialog.getByRole('spinbutton', { name: 'Deliveries at once' }).fill('1');
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

  // Setup: a webhook with a header.
  // What this proves: its name is shown and no value, replacing gives all anew, the receiver has them, and none clears them.
  it('shows the names of its headers, replaces them, and clears them', async () => {
    await using receiver = await openReceiver();
    const client = openClient(system);
    const { page, requested, complaints } = await browser.open({ viewport: { width: 1280, height: 900 } });
    const { body } = await client.post('/webhook-events', {
      url: receiver.url,
      events: ['sync.completed'],
      headers: { 'X-Shop': 'north' },
    });
    const id = String(body['id']);
    await page.goto(`${system.gateway}/console#token=${system.token({ integration: client.integration })}`);
    await goTo(page, `#/webhooks/${id}`);
    await page.getByRole('definition').filter({ hasText: 'X-Shop' }).waitFor();
    const dialog = page.getByRole('dialog');
    const inDialog = (name: string) => dialog.getByRole('button', { name, exact: true });
    const header = (number: number, name: string) =>
      dialog.getByRole('group', { name: `Header ${number}` }).getByLabel(name, { exact: true });
    await press(page.getByRole('button', { name: 'Change …', exact: true }));
    expect(await inDialog('Change').isDisabled()).toBe(true);
    await press(inDialog('Replace them'));
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
});
