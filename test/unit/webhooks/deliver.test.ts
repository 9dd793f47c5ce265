// What a replica thinks of an endpoint after an attempt at it has failed.
import { openLog } from '@integration-sync/runtime/log';
import { expect, it } from 'vitest';
import { openDeliver } from '../../../services/webhooks/src/delivering/deliver.ts';
import { openEndpointCache } from '../../../services/webhooks/src/endpoints/cache.ts';
import type { Next } from '../../../services/webhooks/src/delivering/policy.ts';
import { openRetry } from '../../../services/webhooks/src/tools/retry.ts';
import { openVault } from '../../../services/webhooks/src/secrets/vault.ts';
import { deliveryFor, openEndpoint } from '../../support/webhook-parts.ts';
import { secretKey } from '../../support/webhooks.ts';

const log = openLog({ service: 'test', level: 'silent' });
const failed = { verdict: 'failed', responseStatus: 500, error: 'the receiver answered 500' } as const;

/** The endpoint is open in the database, whatever the failure does. */
async function failOnce(next: Next) {
  const vault = openVault(secretKey);
  const endpoint = { ...openEndpoint('wh_1'), secret: vault.seal('whsec_AAAA', 'wh_1') };
  const cache = openEndpointCache({ findAll: async () => [endpoint] }, vault);
  const deliver = openDeliver({
    send: async () => ({ ...failed, at: new Date(), durationMs: 1 }),
    cache,
    recorder: { succeeded: async () => undefined, failed: async () => next },
    held: { put: async () => 1 },
    report: () => undefined,
    retry: openRetry(log, new AbortController().signal),
  });
  const delivery = {
    ...deliveryFor('wh_1'),
    body: Buffer.from('{"event":"supplier.created","timestamp":"2026-01-01T00:00:00.000Z","data":{}}'),
  };
  const known = await cache.get(delivery);
  if (known === null) throw new Error('there is no endpoint');
  await deliver(known, delivery, undefined);
  return { known, now: await cache.get(delivery) };
}

const again = { event: 'again', delayMs: 1_000, failures: 1, disable: undefined } as const;

it('the endpoint is closed by a failure that counts', async () => {
  const { known, now } = await failOnce({ ...again, gate: 'closed' });
  expect([known.open, now?.open]).toEqual([false, false]);
});

it('the endpoint is as it stands in the database after one that does not', async () => {
  const { known, now } = await failOnce({ ...again, gate: 'unchanged' });
  expect([known.open, now?.open]).toEqual([false, true]);
});
