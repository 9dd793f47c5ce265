// A link to the console in a browser with a profile, which keeps a history on the disk.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDoor } from '@integration-sync/dev/console-door';
import { chromium, type BrowserContext } from 'playwright-core';
import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { browsersWithProfile, listenTo, openBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/folder.ts';
import { openClient, startTestStack } from '../support/stack.ts';

let system: Stack;
beforeAll(async () => {
  system = await startTestStack({ environment: { CONSOLE: 'on' } });
});
afterAll(() => system[Symbol.asyncDispose]());

/** Of the profile, the files that hold the text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const found = await Promise.all(
    names
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => {
        const path = join(parentPath, name);
        const bytes = await readFile(path).catch(() => Buffer.of());
        // As it is, or as Chromium's own texts are (UTF-16).
        return bytes.includes(text) || bytes.includes(Buffer.from(text, 'utf16le')) ? [path] : [];
      }),
  );
  return found.flat().map((path) => path.slice(folder.length + 1));
}

// Setup: Chromium as a person has it, with a history.
// What this proves: the history has the link's code, which is good for nothing any more, and nothing on the disk has the token,
// but what the tab itself keeps for as long as it is there.
it.each(browsersWithProfile)(
  'a link opens the console in %s once, and leaves no token in the history of the browser',
  async (executablePath) => {
    await using folder = await temporaryFolder();
    const { integration } = openClient(system);
    const token = system.token({ integration });
    await using door = await openDoor({ page: `${system.gateway}/console`, issue: () => token });
    const launch = (): Promise<BrowserContext> =>
      chromium.launchPersistentContext(folder.path, {
        executablePath,
        args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
      });
    const browser = await launch();
    const { page, complaints } = listenTo(await browser.newPage());
    await page.goto(door.link);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByText(integration).waitFor();
    await door.passed;
    expect(new URL(page.url()).hash).toBe('#/');
    expect(await page.evaluate<string[]>('Object.keys(sessionStorage)')).toEqual(['token']);
    expect(complaints).toEqual([]);

    // Its history is written some seconds later, or when it ends.
    await browser.close();
    const code = door.link.split('.').at(-1) ?? '';
    expect(
      (await filesWith(folder.path, code)).filter((file) => file.startsWith('Default/History')),
    ).not.toEqual([]);
    const held = await filesWith(folder.path, token);
    expect(held.filter((file) => !file.startsWith('Default/Session Storage/'))).toEqual([]);

    // Whoever finds the link there finds it used.
    const again = await launch();
    const other = await again.newPage();
    await other.goto(door.link);
    await other.getByText('This link has been used.').waitFor();
    await again.close();
  },
);

// Setup: a page by https of another host, so that it has all that a link needs.
// What this proves: by a link, a page of another machine cannot be made to call a server on the person's own machine.
it.each(browsersWithProfile)('a link opens no console of another machine, in %s', async (executablePath) => {
  const elsewhere = 'https://console.example.com';
  await using door = await openDoor({ page: `${elsewhere}/console`, issue: () => 'the-token' });
  await using browser = await openBrowser(executablePath);
  const { page, requested } = await browser.open();
  await page.route(`${elsewhere}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    await route.fulfill({ response: await route.fetch({ url: system.gateway + pathname }) });
  });
  await page.goto(door.link);
  await page.getByRole('alert').getByText('This link opens only a console of the same machine.').waitFor();
  const port = /open=(\d+)/.exec(door.link)?.[1];
  expect(requested.filter((url) => url.includes(`127.0.0.1:${port}`))).toEqual([]);
  expect(await page.evaluate<string[]>('Object.keys(sessionStorage)')).toEqual([]);
  await page.context().close();
});
