// The console in a browser, as a person without a mouse uses it.
import { readFile } from 'node:fs/promises';
import {
  createServer,
  request as forward,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
} from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Stack } from '@integration-sync/dev/stack';
import type { Browser, OpenedPage } from './browser.ts';
import { listen } from './servers.ts';
import { openClient, type Client } from './stack.ts';

/** Activates an element by the keyboard: focuses it and presses Enter. */
export async function press(locator: Locator): Promise<void> {
  await locator.focus();
  await locator.press('Enter');
}

/** Chooses by the keyboard: a select with the focus takes the option that begins with the typed text. */
export async function choose(select: Locator, text: string): Promise<void> {
  await select.focus();
  await select.pressSequentially(text);
}

/** The text of the element that has the focus, if the window shows all of it. */
export const focusedInView = (page: Page): Promise<string> =>
  page.evaluate<string>(`(() => {
    const { activeElement } = document;
    const { top, bottom } = activeElement.getBoundingClientRect();
    return activeElement !== document.body && top >= 0 && bottom <= innerHeight ? activeElement.textContent : '';
  })()`);

export const goTo = (page: Page, hash: string): Promise<void> =>
  page.evaluate((to) => {
    (globalThis as unknown as { location: { hash: string } }).location.hash = to;
  }, hash);

const axe = readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** The rules of axe-core that depend on the colours of a theme. All others judge what is the same in each theme. */
const ofColours = ['color-contrast', 'link-in-text-block'];

/** The violations that axe-core finds in the page as it is now, one text each. */
async function findingsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  // axe-core has half a megabyte, so each page loads it only once.
  if (await page.evaluate<boolean>(`typeof axe === 'undefined'`)) await page.evaluate(await axe);
  const options = {
    resultTypes: ['violations'],
    ...(rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } }),
  };
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** Expects no violation at two widths, in the dark theme by colours alone, and no page wider than its window. */
export async function expectNoFindings(page: Page): Promise<void> {
  for (const width of [1280, 320]) {
    await page.setViewportSize({ width, height: 900 });
    for (const [colorScheme, rules] of [['light'], ['dark', ofColours]] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      expect({ width, colorScheme, findings: await findingsOf(page, rules) }).toEqual({
        width,
        colorScheme,
        findings: [],
      });
    }
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect({ width, wide: Math.max(wide, width) }).toEqual({ width, wide: width });
  }
}

const root = join(import.meta.dirname, '../..');

/** Saves a screenshot in docs/images if PICTURES=1. */
export async function takePicture(page: Page, name: string, height = 720): Promise<void> {
  if (process.env['PICTURES'] !== '1') return;
  const before = page.viewportSize() ?? { width: 1280, height: 900 };
  await page.setViewportSize({ width: 1080, height });
  await page.screenshot({ path: join(root, `docs/images/${name}.png`) });
  await page.setViewportSize(before);
}

/** What a proxy answers itself. */
export interface Refusal {
  status: number;
  headers?: OutgoingHttpHeaders;
}

/** Answers a request in place of the gateway; false passes the request on. */
export type Answering = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean | Promise<boolean>;

/** A proxy that answers what `answering` answers, and passes all other requests on, without the first `prefixLength` characters. */
export async function openProxy(
  gateway: string,
  answering: Answering,
  prefixLength = 0,
): Promise<AsyncDisposable & { url: string }> {
  const pass = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    if (await answering(incoming, outgoing)) return;
    const { method, url = '', headers } = incoming;
    const asked = forward(new URL(url.slice(prefixLength), gateway), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    asked.on('error', () => outgoing.destroy());
    outgoing.on('close', () => asked.destroy());
    incoming.pipe(asked);
  };
  return listen(createServer((incoming, outgoing) => void pass(incoming, outgoing)));
}

/** A proxy that takes a prefix off the path, as an ingress does. It refuses, delays or changes what `meet` names. */
export async function openPrefix(
  gateway: string,
  prefix: string,
  meet?: (asked: IncomingMessage) => Refusal | undefined | Promise<undefined>,
): Promise<AsyncDisposable & { url: string }> {
  const answering: Answering = async (incoming, outgoing) => {
    const refusal = incoming.url?.startsWith(prefix) === true ? await meet?.(incoming) : { status: 404 };
    if (refusal === undefined) return false;
    incoming.resume();
    outgoing.writeHead(refusal.status, refusal.headers).end();
    return true;
  };
  const listening = await openProxy(gateway, answering, prefix.length);
  return { ...listening, url: `${listening.url}${prefix}` };
}

export interface Opening {
  at?: string | undefined;
  scope?: string;
  ttlSeconds?: number;
  hash?: string | undefined;
  /** The test can let time pass in the page. */
  clock?: boolean;
  client?: Client;
}

export interface OpenedConsole extends OpenedPage {
  client: Client;
  token: string;
  link: string;
}

/** Opens the console of an integration, which no other test knows unless `client` is given. */
export async function openConsole(
  system: Stack,
  browser: Browser,
  opening: Opening = {},
): Promise<OpenedConsole> {
  const { at = system.gateway, hash, clock = false, client = openClient(system), ...who } = opening;
  const token = system.token({ integration: client.integration, ...who });
  const link = `${at}/console#token=${token}`;
  const opened = await browser.open({ viewport: { width: 1280, height: 900 } });
  if (clock) await opened.page.clock.install();
  await opened.page.goto(link);
  if (hash !== undefined) await goTo(opened.page, hash);
  return { ...opened, client, token, link };
}

/** Drops files and folders of this machine on an element, as a person does with the mouse. */
export async function drop(target: Locator, paths: readonly string[]): Promise<void> {
  const page = target.page();
  await target.scrollIntoViewIfNeeded();
  const box = await target.boundingBox();
  const at = { x: (box?.x ?? 0) + 10, y: (box?.y ?? 0) + 10 };
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...paths], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await session.send('Input.dispatchDragEvent', { type, ...at, data });
  await session.detach();
}
