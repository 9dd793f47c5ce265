// The console's view *Load a file* in a real browser, on real processes: by roles and keys alone, as a person has it.
import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Stack } from '@integration-sync/dev/stack';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browsers, openBrowser, type Browser, type OpenedPage } from '../support/browser.ts';
import {
  choose,
  drop,
  expectNoFindings,
  focusedInView,
  goTo,
  openPrefix,
  openProxy,
  press,
  takePicture,
  type Refusal,
} from '../support/console.ts';
import { temporaryFolder } from '../support/folder.ts';
import { openClient, startTestStack, type Client } from '../support/stack.ts';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const supplier = (externalId: string, name = externalId) => ({
  externalId,
  name,
});

const csv = (name: string, text: string | Buffer) => ({
  name,
  mimeType: 'text/csv',
  buffer: Buffer.from(text),
});

/** Suppliers by number. */
const numbered = (rows: number) =>
  csv(
    'suppliers.csv',
    ['externalId,name', ...Array.from({ length: rows }, (_, at) => `S-${at},Name ${at}`), ''].join('\n'),
  );

const isPush = ({ method, url = '' }: IncomingMessage): boolean =>
  method === 'POST' && /\/(?:suppliers|products|batches)(?:\?|$)/.test(url);

interface Stopping {
  /** The number of the push with which it happens. */
  at: number;
  /** Whether that push reaches the service only after it, and else perhaps before it. */
  isHeld: boolean;
  reached: PromiseWithResolvers<void>;
  over: PromiseWithResolvers<undefined>;
}

const stopAfter = (at: number, isHeld = true): Stopping => ({
  at,
  isHeld,
  reached: Promise.withResolvers<void>(),
  over: Promise.withResolvers<undefined>(),
});

/** A number from the environment. */
const numberOf = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);

const stopped = { times: numberOf('LOAD_STOPS', 6), rows: numberOf('LOAD_ROWS', 12_000) };

/** Numbers from 0 to 1, the same ones for a seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Kills the process of the page. */
async function crash(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const crashed = page.waitForEvent('crash');
  // It is not answered.
  void session.send('Page.crash').catch(() => undefined);
  await crashed;
}

const totalOf = async (client: Client): Promise<unknown> =>
  (await client.get('/suppliers?limit=1')).body['total'];

async function savedBy(page: Page, pressed: Locator): Promise<{ name: string; text: string }> {
  const downloading = page.waitForEvent('download');
  await press(pressed);
  const download = await downloading;
  return {
    name: download.suggestedFilename(),
    text: await readFile(await download.path(), 'latin1'),
  };
}

const inKeptLoads = (work: string): string => `new Promise((resolve) => {
  const opening = indexedDB.open('integration-sync');
  opening.onsuccess = () => {
    const transaction = opening.result.transaction(['loads', 'pieces', 'history'], 'readwrite');
    ${work}
  };
})`;
/** Leaves the database open. */
const keepAnother = inKeptLoads(`
    transaction.objectStore('loads').put({}, 'another');
    transaction.oncomplete = () => resolve();`);
const keptKeys = inKeptLoads(`
    const all = ['loads', 'pieces', 'history'].map((store) => transaction.objectStore(store).getAllKeys());
    transaction.oncomplete = () => {
      opening.result.close();
      resolve(all.flatMap(({ result }) => result));
    };`);

describe.each(browsers)('the view for loading files in %s', (chromium) => {
  const stack = new AsyncDisposableStack();
  let system: Stack;
  let browser: Browser;

  beforeAll(async () => {
    system = stack.use(await startTestStack({ environment: { CONSOLE: 'on' } }));
    browser = stack.use(await openBrowser(chromium));
  });
  afterAll(() => stack.disposeAsync());

  interface Opened extends OpenedPage {
    client: Client;
    token: string;
    files: Locator;
  }

  interface Opening {
    client?: Client;
    scope?: string;
    at?: string;
    /** Opens a tab beside this one. */
    beside?: Page;
  }

  /** The view, of an integration that no other test knows. */
  async function open({
    client = openClient(system),
    scope,
    at = system.gateway,
    beside,
  }: Opening = {}): Promise<Opened> {
    const token = system.token({
      integration: client.integration,
      ...(scope === undefined ? {} : { scope }),
    });
    const opened =
      beside === undefined
        ? await browser.open({ viewport: { width: 1280, height: 900 } })
        : await browser.openTab(beside);
    await opened.page.goto(`${at}/console#token=${token}`);
    await goTo(opened.page, '#/load');
    return {
      ...opened,
      client,
      token,
      files: opened.page.getByLabel('Files', { exact: true }),
    };
  }

  // Setup: a list of suppliers as a German system exports it, whose headers fit nothing, and products that name them, dropped first.
  // Timeline: a person corrects how a file was read, checks and loads it, loads the repaired row, archives what no file has.
  // What this proves: a person without a terminal loads files by the keyboard, with what the loader reads and says.
  it('loads files of a German system, and their repaired rejects', { timeout: 120_000 }, async () => {
    const { page, client, complaints, requested, files } = await open();
    await client.post('/suppliers', { suppliers: [supplier('OLD-1')] });
    // No person chooses a file within the milliseconds in which the heading of a new view gets the focus.
    await expect.poll(() => focusedInView(page)).toBe('Load a file');
    await files.setInputFiles([
      csv('products.csv', 'externalId,name,supplierExternalId\nP-1,Oak,L-1\nP-2,Ash,L-9\n'),
      csv(
        'lieferanten.csv',
        Buffer.from('Nummer;Firma;Land\r\nL-1;S\u00e4ge =1;DE\r\nL-2;Holz;Nirgendwo\r\n', 'latin1'),
      ),
      csv('notes.ods', 'x'),
    ]);
    await page
      .getByText(
        'lieferanten.csv: its name begins with none of suppliers, products, batches. Choose below what this file contains.',
        { exact: true },
      )
      .waitFor();
    await expect.poll(() => focusedInView(page)).toBe('products.csv');
    await page.getByText(/^notes\.ods/).waitFor();
    const list = page.getByRole('region', {
      name: 'lieferanten.csv',
      exact: true,
    });
    await choose(list.getByRole('combobox', { name: 'Kind', exact: true }), 'suppliers');
    await list
      .getByText(/no column is "externalId", which suppliers need.*Choose the column below\.$/s)
      .waitFor();
    expect(await list.getByText(/no column is/i).count()).toBe(1);
    expect(await page.locator('#console').innerText()).not.toContain('--');
    expect(await button(page, 'Load').isDisabled()).toBe(true);
    for (const [column, field] of [
      ['column 1, Nummer', 'externalId'],
      ['column 2, Firma', 'name'],
      ['column 3, Land', 'country'],
    ] as const) {
      await choose(list.getByRole('combobox', { name: `The field of ${column}` }), field);
      await expect
        .poll(() => list.getByRole('combobox', { name: `The field of ${column}` }).inputValue())
        .toBe(field);
    }
    await list.getByText(/windows-1252, as in "L-1;Säge =1;DE"/).waitFor();
    await list.getByText('2 rows', { exact: true }).waitFor();
    await takePicture(page, 'console-load', 960);
    await expectNoFindings(page);
    await press(button(page, 'Check'));
    await page.getByText(/^Checked: 4 of 4 rows in/).waitFor();
    await expect.poll(() => focusedInView(page)).toBe('What a load would do');
    const planned = page.getByRole('region', {
      name: 'What would become of the rows',
    });
    await planned.getByRole('row', { name: 'lieferanten.csv 1 0 0 1' }).waitFor();
    await planned.getByRole('row', { name: 'products.csv 1 0 0 1' }).waitFor();
    expect((await client.get('/suppliers')).body['total']).toBe(1);

    await press(button(page, 'Load'));
    await page.getByText(/^2 loaded, 2 rejected in/).waitFor();
    await expect.poll(() => focusedInView(page)).toBe('The load');
    const why = page.getByRole('region', { name: 'Why rows are rejected' });
    await why
      .getByRole('row', {
        name: /got "Nirgendwo"; or its name in English.* lieferanten\.csv: row 3 \("Nirgendwo"\)$/,
      })
      .waitFor();
    await why.getByRole('row', { name: /"L-9" not found.* products\.csv: row 3$/ }).waitFor();
    await expectNoFindings(page);
    await takePicture(page, 'console-loaded', 960);
    const results = await savedBy(page, button(page, 'Save the results, with internalId'));
    expect(results.text.split('\r\n').map((line) => line.replace(/,[^,]+,(?=created)/, ',id,'))).toEqual([
      'file,row,externalId,internalId,status',
      'lieferanten.csv,2,L-1,id,created',
      'lieferanten.csv,3,L-2,,rejected',
      'products.csv,2,P-1,id,created',
      'products.csv,3,P-2,,rejected',
      '',
    ]);
    const rejects = await savedBy(
      page,
      page.getByRole('row', { name: /^lieferanten/ }).getByRole('button', { name: 'Save its rejected rows' }),
    );
    expect(rejects).toEqual({
      name: 'lieferanten-rejects.csv',
      text: expect.stringMatching(/^Nummer;Firma;Land;#row;#reason\r\nL-2;Holz;Nirgendwo;3;/),
    });
    await press(button(page, 'Leave out products.csv'));
    await expect.poll(() => focusedInView(page)).toBe('lieferanten.csv');
    await files.setInputFiles([
      csv(rejects.name, Buffer.from(rejects.text.replace('Nirgendwo', 'SE'), 'latin1')),
    ]);
    await page.getByText('rejected rows', { exact: true }).waitFor();
    await page.getByText(/^lieferanten\.csv is left out: these are its rejected rows\s/).waitFor();
    expect(await list.count()).toBe(0);
    await expect.poll(() => focusedInView(page)).toBe('lieferanten-rejects.csv');
    await press(button(page, 'Load'));
    await page.getByText(/^Loaded: 1 of 1 row in/).waitFor();

    await press(button(page, 'Show them'));
    await page.getByText('suppliers: 1 of 3 records were not in the last load.').waitFor();
    await page.getByText('suppliers: OLD-1').first().waitFor();
    const archiving = page.getByRole('button', {
      name: 'Archive 1 record …',
    });
    const dialog = page.getByRole('dialog');
    await press(archiving);
    await expectNoFindings(page);
    await press(dialog.getByRole('button', { name: 'Archive 1 record', exact: true }));
    await page.getByText(/1 of 3 records were not in the last load, more than 10 %/).waitFor();
    await press(archiving);
    await dialog.getByRole('spinbutton').fill('40');
    await press(dialog.getByRole('button', { name: 'Archive 1 record', exact: true }));
    await page.getByText(/were not in the last load, and are archived now/).waitFor();
    // The button that opened the dialog is gone: the focus is not lost with it.
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1');
    const { body } = await client.get('/suppliers?details=true');
    expect(
      (
        body['entities'] as {
          externalId: string;
          syncStatus: string;
          name: string;
        }[]
      ).map(({ externalId, syncStatus, name }) => [externalId, syncStatus, name]),
    ).toEqual(
      expect.arrayContaining([
        ['OLD-1', 'ARCHIVED', 'OLD-1'],
        ['L-1', 'SYNCED', 'Säge =1'],
        ['L-2', 'SYNCED', 'Holz'],
      ]),
    );
    expect(complaints).toEqual([]);
    expect(new Set(requested.map((url) => new URL(url).origin))).toEqual(new Set([system.gateway]));
    await page.context().close();
  });

  // Setup: a file of 40,000 rows.
  // Timeline: loaded, stopped, gone on with, cut off by a new load of the page, chosen again, gone on with under another token.
  // What this proves: a page that is closed on the way asks first, and loses and doubles no row.
  it('continues a load after a stop, and after the page was loaded again', { timeout: 120_000 }, async () => {
    const { page, client, files } = await open();
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.accept();
    });
    const rows = 40_000;
    const lines = Array.from(
      { length: rows },
      (_, at) => `S-${at},Name ${at}${at % 1_000 === 7 ? ',x' : ''}`,
    );
    const file = csv('suppliers.csv', ['externalId,name', ...lines, ''].join('\n'));
    await files.setInputFiles([file]);
    await press(button(page, 'Load'));
    const progress = page.getByRole('progressbar');
    const moved = async (from = 0): Promise<number> => {
      await expect
        .poll(async () => Number(await progress.getAttribute('value')), {
          interval: 20,
        })
        .toBeGreaterThan(from);
      return Number(await progress.getAttribute('value'));
    };
    await moved();
    await press(button(page, 'Stop'));
    await page.getByText(/^Stopped after/).waitFor();
    const before = Number(await progress.getAttribute('value'));
    expect(before).toBeLessThan(rows);
    await press(button(page, 'Go on'));
    await moved(before);
    await page.reload();
    expect(asked).toEqual(['beforeunload']);
    await page.getByRole('heading', { name: 'A load was interrupted' }).waitFor();
    expect(await button(page, 'Go on').isDisabled()).toBe(true);
    await files.setInputFiles([csv('suppliers.csv', 'externalId,name\nS-1,One\n')]);
    await page.getByText('suppliers.csv has changed since the load began: Load begins anew.').waitFor();
    expect(await button(page, 'Go on').isDisabled()).toBe(true);
    await files.setInputFiles([file]);
    await expect.poll(() => button(page, 'Go on').isEnabled()).toBe(true);
    await press(button(page, 'Go on'));
    await page.getByText(/^39,960 loaded, 40 rejected in/).waitFor({ timeout: 60_000 });
    const { body } = await client.get('/suppliers?limit=1');
    expect(body['total']).toBe(rows - 40);
    const rejects = await savedBy(page, page.getByRole('button', { name: 'Save its rejected rows' }));
    expect(
      rejects.text
        .trimEnd()
        .split('\r\n')
        .slice(1)
        .map((line) => line.split(',')[0]),
    ).toEqual(Array.from({ length: 40 }, (_, at) => `S-${at * 1_000 + 7}`));
    const results = await savedBy(page, button(page, 'Save the results, with internalId'));
    const listed = results.text
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[2]);
    expect(listed).toEqual(Array.from({ length: rows }, (_, at) => `S-${at}`));
    expect(await page.evaluate<unknown[]>('indexedDB.databases()')).toHaveLength(1);
    // A load of another integration, which another tab has open, stays.
    await page.evaluate(keepAnother);
    await press(button(page, 'Sign out'));
    await expect.poll(() => page.evaluate<unknown[]>(keptKeys)).toEqual(['another']);
    await page.context().close();
  });

  it('continues a load under a new token, and sends no accepted row twice', async () => {
    const client = openClient(system);
    // After four pushes the token of the page is refused.
    let former: string | undefined;
    let pushes = 0;
    const pushed: string[] = [];
    await using behind = await openPrefix(system.gateway, '', (asked) => {
      if (!isPush(asked)) return undefined;
      const { authorization = '' } = asked.headers;
      former ??= authorization;
      pushes += 1;
      pushed.push(authorization);
      return pushes > 4 && authorization === former ? { status: 401 } : undefined;
    });
    const { page, files } = await open({ client, at: behind.url });
    await files.setInputFiles([numbered(12_000)]);
    await press(button(page, 'Load'));
    const key = page.locator('input[type=password]');
    await key.waitFor({ timeout: 30_000 });
    await page.getByText(/needs another one\.$/).waitFor({ timeout: 30_000 });
    const next = system.token({
      integration: client.integration,
      ttlSeconds: 600,
    });
    await key.fill(next);
    await key.press('Enter');
    await page.getByText(/^Loaded: 12,000 of 12,000 rows in/).waitFor({ timeout: 60_000 });
    expect(await totalOf(client)).toBe(12_000);
    // 24 pushes have 500 rows each: none is sent twice but those that were refused.
    expect(pushed.filter((one) => one === `Bearer ${next}`)).toHaveLength(20);
    await page.context().close();
  });

  it('continues a load under the same token once the service takes it again, and sends it nothing before', async () => {
    let isRefused = true;
    let pushes = 0;
    await using behind = await openPrefix(system.gateway, '', (asked) => {
      if (!isPush(asked)) return undefined;
      pushes += 1;
      return isRefused && pushes > 2 ? { status: 401 } : undefined;
    });
    const { page, client, files, token } = await open({ at: behind.url });
    await files.setInputFiles([numbered(3_000)]);
    await press(button(page, 'Load'));
    await page.getByText(/needs another one\.$/).waitFor();
    const key = page.getByLabel('Access token or API key');
    await key.waitFor();
    const refused = pushes;
    isRefused = false;
    await key.fill(token);
    expect(pushes).toBe(refused);
    await key.press('Enter');
    await page.getByText(/^Loaded: 3,000 of 3,000 rows in/).waitFor();
    expect(await totalOf(client)).toBe(3_000);
    await page.context().close();
  });

  it('says what it waits for before the first row of a load is sent', async () => {
    let isDown = true;
    await using behind = await openPrefix(system.gateway, '', ({ method, url = '' }) =>
      isDown && method === 'GET' && url.includes('/suppliers?') ? { status: 503 } : undefined,
    );
    const { page, client, files } = await open({ at: behind.url });
    await files.setInputFiles([numbered(3)]);
    await press(button(page, 'Load'));
    await page.getByText('The service answers 503. The console asks again for five minutes.').waitFor();
    isDown = false;
    await page.getByText(/^Loaded: 3 of 3 rows in/).waitFor();
    expect(await totalOf(client)).toBe(3);
    await page.context().close();
  });

  it('says again that it looks for records once the service answers after a 503', async () => {
    const held = Promise.withResolvers<undefined>();
    let searches: number | undefined;
    await using behind = await openPrefix(system.gateway, '', ({ method, url = '' }) => {
      if (searches === undefined || method !== 'GET' || !url.includes('/suppliers?')) return undefined;
      searches += 1;
      if (searches === 1) return { status: 503 };
      return searches === 2 ? undefined : held.promise;
    });
    const { page, files } = await open({ at: behind.url });
    await files.setInputFiles([numbered(3)]);
    await press(button(page, 'Load'));
    await page.getByText(/^Loaded: 3 of 3 rows in/).waitFor();
    searches = 0;
    await press(button(page, 'Show them'));
    await expect.poll(() => searches, { timeout: 20_000 }).toBe(3);
    await page.getByText('Looking for records that are not in the files …').waitFor();
    held.resolve(undefined);
    await page.getByText('suppliers: 0 of 3 records were not in the last load.').waitFor();
    await page.context().close();
  });

  it('waits while the service is down, refuses more requests or cannot be reached, and sends no accepted row twice', async () => {
    let refusal: Refusal | undefined = { status: 503 };
    let accepted = 0;
    await using behind = await openPrefix(system.gateway, '', (asked) => {
      if (!isPush(asked)) return undefined;
      // The first push of a load goes alone.
      const answer = accepted === 0 ? undefined : refusal;
      if (answer === undefined) accepted += 1;
      return answer;
    });
    const { page, client, files } = await open({ at: behind.url });
    await files.setInputFiles([numbered(3_000)]);
    await press(button(page, 'Load'));
    await page.getByText('The service answers 503. The console asks again for five minutes.').waitFor();
    refusal = { status: 429, headers: { 'retry-after': '1' } };
    await page.getByText('The service answers 429. The console asks again for five minutes.').waitFor();
    await page.context().setOffline(true);
    await page.getByText('The service does not answer. The console asks again for five minutes.').waitFor();
    refusal = undefined;
    await page.context().setOffline(false);
    await page.getByText(/^Loaded: 3,000 of 3,000 rows in/).waitFor({ timeout: 30_000 });
    expect(accepted).toBe(6);
    expect(await totalOf(client)).toBe(3_000);
    await page.context().close();
  });

  it('names the scope that a token has lost during a load, and goes on once the token has the scope', async () => {
    const client = openClient(system);
    const reading = system.token({
      integration: client.integration,
      scope: 'integration:suppliers:read',
    });
    let pushes = 0;
    let isNarrowed = true;
    await using behind = await openPrefix(system.gateway, '', (asked) => {
      if (!isPush(asked)) return undefined;
      pushes += 1;
      if (isNarrowed && pushes > 1) asked.headers.authorization = `Bearer ${reading}`;
      return undefined;
    });
    const { page, files } = await open({ client, at: behind.url });
    await files.setInputFiles([numbered(2_000)]);
    await press(button(page, 'Load'));
    await page.getByText('403: the key lacks the scope integration:suppliers:write.').waitFor();
    await page.getByText(/^Stopped after 500 of 2,000 rows\./).waitFor();
    isNarrowed = false;
    await press(button(page, 'Go on'));
    await page.getByText(/^Loaded: 2,000 of 2,000 rows in/).waitFor();
    expect(await totalOf(client)).toBe(2_000);
    await page.context().close();
  });

  it('says that a chosen file was changed or removed, and loads the file that is chosen next', async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, 'suppliers.csv');
    const { page, client, files } = await open();
    await writeFile(path, 'externalId,name\nS-1,One\n');
    await files.setInputFiles(path);
    await press(button(page, 'Check'));
    await page.getByText(/^Checked: 1 of 1 row in/).waitFor();
    await writeFile(path, 'externalId,name\nS-1,Two\n');
    // Browsers compare whole seconds.
    await utimes(path, 0, 1_700_000_000);
    const words = page.getByText(
      'suppliers.csv cannot be read: it has changed, or is gone. Choose it once more.',
    );
    await press(button(page, 'Load'));
    await words.waitFor();
    await rm(path);
    await press(button(page, 'Check'));
    await page.getByText(/^Stopped after/).waitFor();
    await words.waitFor();
    expect(await totalOf(client)).toBe(0);
    await writeFile(path, 'externalId,name\nS-1,Two\n');
    await files.setInputFiles(path);
    await press(button(page, 'Load'));
    await page.getByText(/^Loaded: 1 of 1 row in/).waitFor();
    expect((await client.get('/suppliers')).body['entities']).toMatchObject([{ name: 'Two' }]);
    await page.context().close();
  });

  // Setup: two tabs of one integration, of which the first loads, and its pushes wait at a proxy.
  // What this proves: the second tab says that the first one loads, and neither of them loses what the other has loaded.
  it('sends a file from one tab at a time, and other tabs say that a load is running', async () => {
    const client = openClient(system);
    const held = Promise.withResolvers<undefined>();
    await using behind = await openPrefix(system.gateway, '', (asked) =>
      isPush(asked) ? held.promise : undefined,
    );
    const first = await open({ client, at: behind.url });
    const early = await open({ client, at: behind.url, beside: first.page });
    await early.files.setInputFiles([csv('products.csv', 'externalId,name\nP-1,Oak\n')]);
    await first.files.setInputFiles([numbered(600)]);
    await press(button(first.page, 'Load'));
    await first.page.getByRole('progressbar').waitFor();
    const second = await open({ client, at: behind.url, beside: first.page });
    await second.page
      .getByText('Another tab loads files of this integration.', {
        exact: true,
      })
      .waitFor();
    await second.files.setInputFiles([numbered(600)]);
    await press(button(second.page, 'Load'));
    await second.page
      .getByText('Another tab loads files of this integration: wait until it has ended.')
      .waitFor();
    expect(await second.page.getByRole('heading', { name: 'A load was interrupted' }).count()).toBe(0);
    held.resolve(undefined);
    await first.page.getByText(/^Loaded: 600 of 600 rows in/).waitFor();
    await second.page
      .getByText('Another tab loads files of this integration.', {
        exact: true,
      })
      .waitFor({ state: 'detached' });
    await press(button(second.page, 'Load'));
    await second.page.getByText(/^Loaded: 600 of 600 rows in/).waitFor();
    await second.page.getByRole('row', { name: 'suppliers.csv 0 0 600 0' }).waitFor();
    expect(await second.page.getByText('Another tab loads files of this integration').count()).toBe(0);
    await press(button(early.page, 'Load'));
    await early.page.getByText(/^Loaded: 1 of 1 row in/).waitFor();
    await early.page
      .getByText(/Records of suppliers, products that no row of suppliers\.csv, products\.csv named/)
      .waitFor();
    await first.page.context().close();
  });

  // Setup: a load that is stopped after two pushes. Timeline: another file of the same name is chosen, in this tab or in a second
  // tab, which begins its own load. What this proves: rows of one file never complete the load of the other.
  it.each(['this tab', 'another tab'])(
    'does not continue a load with another file of the same name, chosen in %s',
    async (tab) => {
      const client = openClient(system);
      let pushes = 0;
      let held = Promise.withResolvers<undefined>();
      await using behind = await openPrefix(system.gateway, '', (asked) =>
        isPush(asked) && (pushes += 1) > 2 ? held.promise : undefined,
      );
      const loadAndStop = async ({ page }: Opened): Promise<void> => {
        pushes = 0;
        await press(button(page, 'Load'));
        await expect.poll(() => pushes).toBeGreaterThan(2);
        await press(button(page, 'Stop'));
        held.resolve(undefined);
        await page.getByText(/^Stopped after/).waitFor();
        held = Promise.withResolvers<undefined>();
      };
      const first = await open({ client, at: behind.url });
      const file = numbered(6_000);
      await first.files.setInputFiles([file]);
      await loadAndStop(first);
      const other = csv(file.name, file.buffer.toString().replaceAll('Name', 'Other'));
      const begun = first.page.getByText('suppliers.csv has changed since the load began: Load begins anew.');
      if (tab === 'this tab') {
        await first.files.setInputFiles([other]);
        await begun.waitFor();
      } else {
        const second = await open({ client, at: behind.url, beside: first.page });
        await second.files.setInputFiles([other]);
        await loadAndStop(second);
      }
      pushes = -100;
      await press(button(first.page, 'Go on'));
      if (tab === 'this tab') await first.page.getByText(/^Loaded: 6,000 of 6,000 rows in/).waitFor();
      else await first.page.getByText('Choose its files again, and it goes on where it was:').waitFor();
      const { body } = await client.get('/suppliers?externalId=S-5999');
      expect(body['entities']).toMatchObject(tab === 'this tab' ? [{ name: 'Name 5999' }] : []);
      await first.page.context().close();
    },
  );

  // Setup: two prefixes of one proxy, as for the consoles of a test service and of a productive one.
  // What this proves: a load into one service is neither gone on with at the other, which lacks the rows before the stop, nor
  // forgotten there.
  it('keeps the stopped load into a service apart from a load into another service of the same origin', async () => {
    const client = openClient(system);
    const pushed = { test: 0, live: 0 };
    await using behind = await openProxy(
      system.gateway,
      (incoming, outgoing) => {
        const name = incoming.url?.startsWith('/test/') === true ? 'test' : 'live';
        if (!isPush(incoming)) return false;
        pushed[name] += 1;
        const isStopped = name === 'test' && pushed.test > 2;
        if (isStopped) outgoing.writeHead(403).end();
        return isStopped;
      },
      '/test'.length,
    );
    const test = await open({ client, at: `${behind.url}/test` });
    await test.files.setInputFiles([numbered(2_000)]);
    await press(button(test.page, 'Load'));
    await test.page.getByRole('heading', { name: 'A load was interrupted' }).waitFor();
    const live = await open({ client, at: `${behind.url}/live`, beside: test.page });
    await live.files.setInputFiles([numbered(2_000)]);
    await live.page.getByText('2,000 rows', { exact: true }).waitFor();
    expect(await live.page.getByRole('heading', { name: 'A load was interrupted' }).count()).toBe(0);
    await press(button(live.page, 'Load'));
    await live.page.getByText(/^Loaded: 2,000 of 2,000 rows in/).waitFor();
    expect(pushed.live).toBe(4);
    await press(button(live.page, 'Show them'));
    await live.page.getByText(/^suppliers: \d+ of [\d,]+ records were not in the last load\.$/).waitFor();
    await press(button(live.page, 'Sign out'));
    await test.page.reload();
    await test.page.getByRole('heading', { name: 'A load was interrupted' }).waitFor();
    await test.page.context().close();
  });

  it('saves no rows of a load after another tab has carried out a later load', async () => {
    const client = openClient(system);
    const first = await open({ client });
    const second = await open({ client, beside: first.page });
    for (const [tab, wrong] of [
      [first, 'S-first'],
      [second, 'S-second'],
    ] as const) {
      await tab.files.setInputFiles([csv('suppliers.csv', `externalId,name\nS-1,One\n${wrong},Two,x\n`)]);
      await press(button(tab.page, 'Load'));
      await tab.page.getByText(/^1 loaded, 1 rejected in/).waitFor();
    }
    const rejects = await savedBy(second.page, button(second.page, 'Save its rejected rows'));
    expect(rejects.text).toContain('S-second');
    const refusals = first.page.getByText('The browser does not keep the rows of this load any more.');
    await press(button(first.page, 'Save its rejected rows'));
    await expect.poll(() => refusals.count()).toBe(1);
    await press(button(first.page, 'Save the results, with internalId'));
    await expect.poll(() => refusals.count()).toBe(2);
    await first.page.context().close();
  });

  it('keeps the rejected rows of a load that is under way while another tab signs out', async () => {
    const client = openClient(system);
    const first = await open({ client });
    const second = await open({ client, beside: first.page });
    const held = Promise.withResolvers<void>();
    let pushes = 0;
    await first.page.route('**/suppliers?details=true', async (route) => {
      pushes += 1;
      if (pushes === 2) await held.promise;
      await route.continue();
    });
    const rows = Array.from({ length: 501 }, (_, at) => `S-${at},${at % 500 === 0 ? '' : 'One'}\n`);
    await first.files.setInputFiles([csv('suppliers.csv', ['externalId,name\n', ...rows].join(''))]);
    await press(button(first.page, 'Load'));
    await expect.poll(async () => JSON.stringify(await first.page.evaluate(keptKeys))).toContain('rejects-0');
    await press(button(second.page, 'Sign out'));
    await second.page.getByLabel('Access token or API key').waitFor();
    held.resolve();
    await first.page.getByText(/^499 loaded, 2 rejected in/).waitFor();
    const { text } = await savedBy(first.page, button(first.page, 'Save its rejected rows'));
    expect(text.match(/^S-\d+/gm)).toEqual(['S-0', 'S-500']);
    await first.page.context().close();
  });

  // Setup: a tab has found a record that its file did not have. Timeline: another tab loads, or a caller pushes, this record.
  // What this proves: the first tab archives nothing that has come since it looked.
  it.each(['another tab has loaded', 'a caller has pushed'])(
    'archives no record that %s since',
    async (who) => {
      const client = openClient(system);
      await client.post('/suppliers', { suppliers: [supplier('S-1'), supplier('S-2')] });
      const first = await open({ client });
      const load = async ({ page, files }: Opened, rows: string): Promise<void> => {
        await files.setInputFiles([csv('suppliers.csv', `externalId,name\n${rows}`)]);
        await press(button(page, 'Load'));
        await page.getByText(/^Loaded: /).waitFor();
      };
      await load(first, 'S-1,One\n');
      await press(button(first.page, 'Show them'));
      await first.page.getByText('suppliers: 1 of 2 records were not in the last load.').waitFor();
      if (who === 'a caller has pushed') await client.post('/suppliers', { suppliers: [supplier('S-2')] });
      else await load(await open({ client, beside: first.page }), 'S-1,One\nS-2,Two\n');
      await press(button(first.page, 'Archive 1 record …'));
      await first.page.getByRole('spinbutton').fill('100');
      await press(button(first.page, 'Archive 1 record'));
      await first.page.getByText('Nothing is archived: the list has changed. Look at it again.').waitFor();
      await first.page.getByText('suppliers: 0 of 2 records were not in the last load.').waitFor();
      const { body } = await client.get('/suppliers?externalId=S-2');
      expect(body['entities']).toMatchObject([{ syncStatus: 'SYNCED' }]);
      await first.page.context().close();
    },
  );

  it('says that the browser keeps no loads, or has deleted what it kept', async () => {
    const { page, client, files } = await open();
    await files.setInputFiles([numbered(3)]);
    await press(button(page, 'Load'));
    await page.getByText(/^Loaded: 3 of 3 rows in/).waitFor();
    const session = await page.context().newCDPSession(page);
    await session.send('Storage.clearDataForOrigin', { origin: system.gateway, storageTypes: 'indexeddb' });
    await press(button(page, 'Load'));
    const words = page.getByText('The browser could not use IndexedDB: load the page again.');
    await words.waitFor();
    await page.evaluate(`new Promise((resolve) => {
      const opening = indexedDB.open('integration-sync', 9);
      opening.onsuccess = () => resolve(opening.result.close());
    })`);
    await page.reload();
    await files.setInputFiles([numbered(4)]);
    await press(button(page, 'Load'));
    await words.waitFor();
    expect(await totalOf(client)).toBe(3);
    await page.context().close();
  });

  it('accepts forty dropped files, and asks for the files of a dropped folder', async () => {
    await using folder = await temporaryFolder();
    const exports = join(folder.path, 'exports');
    await mkdir(exports);
    const paths = Array.from({ length: 40 }, (_, at) => join(folder.path, `suppliers-${at}.csv`));
    await Promise.all(paths.map((path, at) => writeFile(path, `externalId,name\nS-${at},One\n`)));
    const { page, client, complaints } = await open();
    await drop(page.getByRole('region', { name: 'Choosing files' }), [exports, ...paths]);
    await page.getByText('exports is a folder: drop its files.').waitFor();
    await page.getByRole('region', { name: 'suppliers-39.csv', exact: true }).waitFor();
    await expect.poll(() => button(page, 'Load').isEnabled()).toBe(true);
    await press(button(page, 'Load'));
    await page.getByText(/^Loaded: 40 of 40 rows in/).waitFor({ timeout: 20_000 });
    expect(await totalOf(client)).toBe(40);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('refuses files that cannot be loaded, each by its name, and loads the other files', async () => {
    const { page, client, files } = await open();
    const compound = Buffer.from('d0cf11e0a1b11ae1', 'hex');
    await files.setInputFiles([
      csv('suppliers-empty.csv', ''),
      csv('suppliers-password.xlsx', Buffer.concat([compound, Buffer.alloc(600)])),
      csv('suppliers-old.xls', Buffer.concat([compound, Buffer.alloc(600)])),
      csv('suppliers.csv', 'externalId,name\nS-1,One\n'),
      csv('suppliers.csv', 'externalId,name\nS-2,Two\n'),
    ]);
    for (const words of [
      'suppliers-empty.csv is empty.',
      /^suppliers-password\.xlsx has a password, or is a workbook of Excel 97/,
      /^suppliers-old\.xls is a workbook of Excel 97 \(\.xls\), or has a password/,
      'Two files are named suppliers.csv: rename one of them.',
    ])
      await page.getByRole('alert').filter({ hasText: words }).waitFor();
    await expect.poll(() => button(page, 'Load').isEnabled()).toBe(true);
    await press(button(page, 'Load'));
    await page.getByText(/^Loaded: 1 of 1 row in/).waitFor();
    expect((await client.get('/suppliers')).body['entities']).toMatchObject([{ externalId: 'S-1' }]);
    const map = page.getByLabel('Map', { exact: true });
    await map.setInputFiles([csv('map.json', 'no map')]);
    await page.getByRole('alert').filter({ hasText: 'The map map.json is no JSON' }).waitFor();
    await page.context().close();
  });

  it('shows and saves column names and cells with markup or formulas as plain text', async () => {
    const { page, client, complaints, files } = await open();
    const markup = '<img src=x onerror=alert(1)>';
    const command = "=cmd|' /C calc'!A0";
    const odd = csv('suppliers.csv', `__proto__,${markup},constructor\n${command},${markup},x\nS-2,,y\n`);
    await files.setInputFiles([odd]);
    const list = page.getByRole('region', {
      name: 'suppliers.csv',
      exact: true,
    });
    const fieldOf = (column: string): Locator =>
      list.getByRole('combobox', {
        name: `The field of ${column}`,
        exact: true,
      });
    for (const [column, field] of [
      ['column 1, __proto__', 'externalId'],
      [`column 2, ${markup}`, 'name'],
    ] as const) {
      await choose(fieldOf(column), field);
      await expect.poll(() => fieldOf(column).inputValue()).toBe(field);
    }
    const map = await savedBy(page, button(page, 'Save the map'));
    await press(button(page, 'Leave out suppliers.csv'));
    await page.getByLabel('Map', { exact: true }).setInputFiles([csv(map.name, map.text)]);
    await files.setInputFiles([odd]);
    await expect.poll(() => fieldOf('column 1, __proto__').inputValue()).toBe('externalId');
    await press(button(page, 'Load'));
    await page.getByText(/^1 loaded, 1 rejected in/).waitFor();
    expect((await client.get('/suppliers')).body['entities']).toMatchObject([
      { externalId: command, name: markup },
    ]);
    const results = await savedBy(page, button(page, 'Save the results, with internalId'));
    expect(results.text.split('\r\n')[1]).toMatch(/^suppliers\.csv,2,'=cmd/);
    const rejects = await savedBy(page, button(page, 'Save its rejected rows'));
    expect(rejects.text.split('\r\n')[0]).toBe(`__proto__,${markup},constructor,#row,#reason`);
    expect(await page.locator('#console img').count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  // Setup: a file of 12,000 rows, a thousandth of which are wrong, behind a proxy that holds a push whenever the seed says so.
  // Timeline: six times, with a push on the way, the page is loaded again, loses its network, or its tab is closed or crashes.
  // LOAD_STOPS, LOAD_ROWS and LOAD_SEED make it longer, or another one.
  // What this proves: wherever a load stops, each row has its outcome once at the end, and each record what its row has.
  it(
    'loads each row once through reloads, losses of the network, closed and crashed tabs',
    { timeout: 10_000 * stopped.times },
    async () => {
      const { times: stops, rows } = stopped;
      const random = seeded(numberOf('LOAD_SEED', 54));
      let count = 0;
      let stop = stopAfter(1);
      await using behind = await openPrefix(system.gateway, '', (asked) => {
        if (!isPush(asked)) return undefined;
        count += 1;
        if (count < stop.at) return undefined;
        stop.reached.resolve();
        return stop.isHeld ? stop.over.promise : undefined;
      });
      let opened = await open({ at: behind.url });
      const { client } = opened;
      const lines = Array.from(
        { length: rows },
        (_, at) => `S-${at},Name ${at}${at % 1_000 === 7 ? ',x' : ''}`,
      );
      const file = csv('suppliers.csv', ['externalId,name', ...lines, ''].join('\n'));
      const goOn = async (): Promise<void> => {
        await opened.files.setInputFiles([file]);
        await expect.poll(() => button(opened.page, 'Go on').isEnabled()).toBe(true);
        await press(button(opened.page, 'Go on'));
      };
      await opened.files.setInputFiles([file]);
      await press(button(opened.page, 'Load'));
      for (let done = 0; done < stops; done += 1) {
        await stop.reached.promise;
        const { over } = stop;
        const { page } = opened;
        const way = done % 4;
        if (way === 0) {
          page.once('dialog', (dialog) => void dialog.accept());
          await page.reload();
          await goOn();
        } else if (way === 1) {
          await page.context().setOffline(true);
          await page.getByText('The service does not answer.').waitFor();
          await page.context().setOffline(false);
        } else {
          if (way === 3) await crash(page);
          opened = await open({ client, at: behind.url, beside: page });
          await page.close({ runBeforeUnload: false });
          await opened.page.getByRole('heading', { name: 'A load was interrupted' }).waitFor();
          await goOn();
        }
        // A lost network is seen by the pushes that go on.
        const isHeld = way !== 0 && random() < 0.5;
        const at = done + 1 < stops ? count + 1 + Math.floor(random() * 3) : Infinity;
        stop = stopAfter(at, isHeld);
        over.resolve(undefined);
      }
      const right = lines.filter((line) => !line.endsWith(',x')).map((line) => line.split(','));
      const loaded = right.length.toLocaleString('en');
      await opened.page
        .getByText(`${loaded} loaded, ${rows - right.length} rejected in`)
        .waitFor({ timeout: 30_000 });
      const results = await savedBy(opened.page, button(opened.page, 'Save the results, with internalId'));
      const found = results.text.trimEnd().split('\r\n').slice(1);
      expect(found.map((line) => line.split(',')[2])).toEqual(lines.map((_, at) => `S-${at}`));
      const names = new Map<unknown, unknown>();
      for (let next: string | undefined = '/suppliers?limit=100'; next !== undefined;) {
        const { body, headers } = await client.get(next);
        for (const { externalId, name } of body['entities'] as {
          externalId: string;
          name: string;
        }[]) {
          expect(names.has(externalId)).toBe(false);
          names.set(externalId, name);
        }
        next = /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
      }
      expect(names.size).toBe(right.length);
      expect(right.filter(([id, name]) => names.get(id) !== name)).toEqual([]);
      await opened.page.context().close();
    },
  );

  it('checks a file with the scope of reading, and names the scope that a load needs', async () => {
    const { page, client, files } = await open({
      scope: 'integration:suppliers:read',
    });
    await client.post('/suppliers', { suppliers: [supplier('S-1', 'Name 1')] });
    await files.setInputFiles([numbered(3)]);
    await page.getByText('Load needs integration:suppliers:write').waitFor();
    expect(await button(page, 'Load').isDisabled()).toBe(true);
    await press(button(page, 'Check'));
    await page.getByText(/^Checked: 3 of 3 rows in/).waitFor();
    await page.getByRole('row', { name: 'suppliers.csv 2 0 1 0' }).waitFor();
    expect(await totalOf(client)).toBe(1);
    await page.context().close();
    const other = await open({ client, scope: 'integration:products:read' });
    await other.files.setInputFiles([numbered(3)]);
    await other.page.getByText('Check needs integration:suppliers:read').waitFor();
    expect(await button(other.page, 'Check').isDisabled()).toBe(true);
    await other.page.context().close();
  });
});
