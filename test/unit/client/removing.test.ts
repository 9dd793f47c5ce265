// A webhook that is removed although the answer to that is lost on the way.
import { openClient, RequestFailed } from '@integration-sync/client';
import { expect, it } from 'vitest';

/** `lost` answers are lost; after them the webhook is not there. */
const clientWhere = (lost: number) => {
  let calls = 0;
  return openClient({
    baseUrl: 'http://service.test',
    key: 'a-key',
    async fetch() {
      calls += 1;
      if (calls <= lost) throw new TypeError('fetch failed');
      return new Response('{"code":"not_found","detail":"There is no such webhook."}', { status: 404 });
    },
  });
};

it('a repeated removal that gets 404 succeeds, as the first request may have removed the webhook', async () => {
  await expect(clientWhere(2).webhooks.remove('wh_1')).resolves.toBeUndefined();
});

it('a removal that gets 404 after a 429 fails', async () => {
  let calls = 0;
  const client = openClient({
    baseUrl: 'http://service.test',
    key: 'a-key',
    fetch: async () => new Response('{}', { status: (calls += 1) === 1 ? 429 : 404 }),
  });
  await expect(client.webhooks.remove('wh_1')).rejects.toThrow(RequestFailed);
});

it('a removal that gets 404 at first fails', async () => {
  await expect(clientWhere(0).webhooks.remove('wh_1')).rejects.toThrow(RequestFailed);
});
