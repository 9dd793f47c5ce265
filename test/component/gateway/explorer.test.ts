import { routes } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browsers, openBrowser } from '../../support/browser.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway, openServices, type TestGateway } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';

// The explorer: its page loads nothing from elsewhere, and, where the machine has Chromium, it shows every
// operation in a real browser, which asks no other server and reports no error.

const stack = new AsyncDisposableStack();
let gateway: TestGateway;

beforeAll(async () => {
  const nats = stack.use(await startNats());
  stack.use(await openServices(nats.url));
  gateway = stack.use(await openGateway(nats.url));
});
afterAll(() => stack.disposeAsync());

describe('/docs', () => {
  it('has a Content-Security-Policy for its own origin without inline scripts', async () => {
    const answer = await fetch(`${gateway.url}/docs`);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(await answer.text()).not.toMatch(/https?:\/\//);
  });

  it('serves all files that its page names', async () => {
    const page = await (await fetch(`${gateway.url}/docs`)).text();
    const parts = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, part = '']) => part);
    expect(parts).toHaveLength(4);
    for (const part of parts) {
      const answer = await fetch(new URL(part, `${gateway.url}/docs`));
      expect({ part, status: answer.status, kept: answer.headers.get('cache-control') }).toEqual({
        part,
        status: 200,
        kept: 'public, max-age=3600',
      });
      expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
  });
});

it.each(browsers)('the page /docs shows every operation in %s', { timeout: 120_000 }, async (chromium) => {
  await using browser = await openBrowser(chromium);
  const { page, complaints, requested } = await browser.open({ viewport: { width: 1280, height: 1600 } });
  await page.goto(`${gateway.url}/docs`);
  const operations = await eventually(
    () => page.locator('.opblock').evaluateAll((blocks) => blocks.map(({ id }) => id)),
    (blocks) => blocks.length >= routes.length,
    60_000,
  );
  for (const { operationId } of routes) {
    expect(operations.filter((id) => id.endsWith(`-${operationId}`))).toHaveLength(1);
  }
  // Unfolded, an operation shows its body, its answers and their examples.
  const operation = page.locator('[id$="-pushSuppliers"]');
  await operation.locator('.opblock-summary-control').click();
  await eventually(
    () => operation.innerText(),
    (text) => text.includes('Nordic Timber AB') && text.includes('503'),
  );
  expect(complaints).toEqual([]);
  expect(
    new Set(requested.filter((url) => !url.startsWith('data:')).map((url) => new URL(url).origin)),
  ).toEqual(new Set([gateway.url]));
});
