// The cache of endpoints with their decrypted secrets.
import { expect, it, vi } from 'vitest';
import { openEndpointCache } from '../../../services/webhooks/src/endpoints/cache.ts';
import type { Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openVault } from '../../../services/webhooks/src/secrets/vault.ts';
import { openEndpoint } from '../../support/webhook-parts.ts';
import { secretKey } from '../../support/webhooks.ts';

it('an endpoint whose change was not broadcast is read from MongoDB again after 30 s', async () => {
  const vault = openVault(secretKey);
  const before: Endpoint = { ...openEndpoint('wh_1'), secret: vault.seal('whsec_AAAA', 'wh_1') };
  let stored = before;
  const cache = openEndpointCache({ findAll: async () => [stored] }, vault);
  // lru-cache keeps the `performance` that it finds at its import, which fake timers replace.
  vi.useRealTimers();
  // Of whole milliseconds, differences are exact.
  const begun = Math.ceil(performance.now());
  using clock = vi.spyOn(performance, 'now');
  const urlAfter = async (ms: number) => {
    clock.mockReturnValue(begun + ms);
    return (await cache.get(before))?.endpoint.url;
  };
  expect(await urlAfter(0)).toBe(before.url);
  stored = { ...before, url: 'https://changed.example/', version: before.version + 1 };
  expect(await urlAfter(30_000)).toBe(before.url);
  expect(await urlAfter(30_001)).toBe('https://changed.example/');
});
