// The cases that the clients of all languages pass, by the client of TypeScript.
import { openClient, verifyWebhook, WebhookRefused } from '@integration-sync/client';
import { expect, it, vi } from 'vitest';
import { checkError, checkOutcome, checkRequests } from '../../support/client-case-checks.ts';
import { cases, make, optionsOf, ScriptedService } from '../../support/client-cases.ts';

it.each(cases.calls)('the TypeScript client $title', async (one) => {
  const service = new ScriptedService(one.service);
  const client = openClient(optionsOf(one, service));
  for (const call of one.calls) {
    const before = service.asked.length;
    const begunAt = Date.now();
    let outcome: unknown;
    for (let time = 0; time < (call.times ?? 1); time += 1)
      outcome = await make(client, call).catch((error: unknown) => error);
    if (call.fails === undefined) checkOutcome(call, outcome);
    else checkError(call.fails, outcome);
    checkRequests(call, service.asked.slice(before));
    const [least, most] = call.seconds ?? [0, Infinity];
    expect((Date.now() - begunAt) / 1_000).toBeGreaterThanOrEqual(least);
    expect((Date.now() - begunAt) / 1_000).toBeLessThanOrEqual(most);
    expect(service.refused).toBeLessThanOrEqual(call.refusedMax ?? Infinity);
  }
});

it.each(cases.deliveries)('verifyWebhook $title', async ({ secret, headers, body, at, ...expected }) => {
  vi.setSystemTime(at * 1_000);
  const { title: _title, ...end } = expected;
  const verified = await verifyWebhook({ secret, headers, body }).then(
    (event) => ({ event }),
    (error: unknown) =>
      error instanceof WebhookRefused
        ? { refused: error.reason }
        : { isWrongSecret: error instanceof TypeError },
  );
  expect(verified).toMatchObject(end);
});
