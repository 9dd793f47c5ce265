import { join } from 'node:path';
import type * as clientPackage from '@integration-sync/client';
import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { browsers, openBrowser, type OpenedPage } from '../support/browser.ts';
import { temporaryFolder } from '../support/folder.ts';
import { installPackages } from '@integration-sync/dev/pack';
import { answer, openReceiver } from '../support/receiver.ts';
import { openClient as openHttp, startTestStack, type Client as Http } from '../support/stack.ts';

// The client package as it is packed, in a page of the service's own origin: the browser itself answers for the files of the
// package, and all else goes to the gateway.

interface Loaded {
  client: typeof clientPackage;
}
const document =
  '<!doctype html><link rel="icon" href="data:,"><script type="module">import * as client from "./index.js"; globalThis.client = client;</script>';

describe.each(browsers)('the client in %s', (chromium) => {
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync());

  let gateway: string;
  let system: Stack;
  let token: string;
  let http: Http;
  let page: OpenedPage;

  beforeAll(async () => {
    const folder = stack.use(await temporaryFolder());
    system = stack.use(await startTestStack());
    gateway = system.gateway;
    page = await stack.use(await openBrowser(chromium)).open();
    const place = await installPackages(folder.path, ['client']);
    const packed = join(place, 'node_modules/@integration-sync/client/dist');
    await page.page.route(`${gateway}/page/**`, async (route) => {
      const { pathname } = new URL(route.request().url());
      if (pathname === '/page/') await route.fulfill({ contentType: 'text/html', body: document });
      else await route.fulfill({ path: join(packed, pathname.slice('/page/'.length)) });
    });
    await page.page.goto(`${gateway}/page/`);
  });
  beforeEach(() => {
    http = openHttp(system);
    token = system.token({ integration: http.integration });
  });

  it('pushes suppliers, reports a misspelt field, and lists suppliers', async () => {
    const seen = await page.page.evaluate(
      async ({ baseUrl, key }) => {
        const { openClient } = (globalThis as unknown as Loaded).client;
        const client = openClient({ baseUrl, key });
        const items = Array.from({ length: 600 }, (_, index) => ({ externalId: `S-${index}`, name: 'Grün' }));
        items[599] = { ...items[599], nmae: '' } as never;
        const { created, details } = await client.push('suppliers', items);
        const failed = details.filter(({ action }) => action === 'failed').map(({ index }) => index);
        const listed = [];
        for await (const { externalId } of client.list('suppliers')) listed.push(externalId);
        return { created, failed, listed: listed.length };
      },
      { baseUrl: gateway, key: token },
    );
    expect(seen).toEqual({ created: 599, failed: [599], listed: 599 });
    expect(page.complaints).toEqual([]);
  });

  it('verifies the signature of a real delivery, and refuses a changed delivery', async () => {
    const receiver = stack.use(await openReceiver(answer(200)));
    const { body } = await http.post('/webhook-events', { url: receiver.url, events: ['product.created'] });
    await http.post('/products', { products: [{ externalId: 'P-1', name: 'Eiche' }] });
    const [delivery] = await receiver.received(1);
    const seen = await page.page.evaluate(
      async ({ secret, headers, text }) => {
        const { verifyWebhook, WebhookRefused } = (globalThis as unknown as Loaded).client;
        const { event } = await verifyWebhook({ secret, headers, body: text });
        const refused = await verifyWebhook({ secret, headers, body: `${text} ` }).catch((error) =>
          error instanceof WebhookRefused ? error.reason : String(error),
        );
        return { event, refused };
      },
      {
        secret: String(body['secret']),
        headers: delivery?.headers ?? {},
        text: delivery?.body ?? '',
      },
    );
    expect(seen).toEqual({ event: 'product.created', refused: 'no_match' });
  });
});
