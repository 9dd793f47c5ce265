// A gateway that traces, and a collector that must not matter to its callers.
import { expect, it } from 'vitest';
import { bearer } from '../../support/access-tokens.ts';
import { openCollector } from '../../support/collector.ts';
import { openGateway, openServices } from '../../support/gateway.ts';
import { startNats } from '../../support/nats.ts';

it('with a collector that accepts connections but never answers, callers are answered and the gateway stops in time', async () => {
  await using nats = await startNats();
  await using collector = await openCollector();
  collector.behave('says nothing');
  await using _services = await openServices(nats.url);
  const gateway = await openGateway(nats.url, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  // It serves after two seconds even where NATS does not answer yet.
  await expect.poll(async () => (await fetch(`${gateway.url}/readyz`)).status, { timeout: 10_000 }).toBe(200);
  const list = (): Promise<Response> =>
    fetch(`${gateway.url}/api/v1/integration/suppliers`, { headers: bearer() });
  // Each makes two spans, so that 512 of them wait, and are sent, long before the last.
  const statuses: number[] = [];
  for (let n = 0; n < 80; n += 1) {
    const answers = await Promise.all(Array.from({ length: 4 }, list));
    statuses.push(...answers.map(({ status }) => status));
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  }
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(collector.contentTypes).toHaveLength(1);
  const stoppedAt = performance.now();
  await gateway[Symbol.asyncDispose]();
  // The exporter would wait for ten.
  expect(performance.now() - stoppedAt).toBeLessThan(5_000);
});
