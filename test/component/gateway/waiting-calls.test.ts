// Callers that wait for events while their credential ends, is removed, or changes: a gateway and webhooks in this process.
import { expect, it } from 'vitest';
import { nowSeconds, token } from '../../support/access-tokens.ts';
import { clientEntry, clientsFile, testSecret } from '../../support/clients.ts';
import { eventually } from '../../support/eventually.ts';
import { openGateway } from '../../support/gateway.ts';
import { openHouse } from '../../support/webhooks.ts';

it('a waiting feed call gets no event once its credential has ended, was removed or was changed', async () => {
  await using house = await openHouse();
  const { metricsUrl } = await house.start();
  const [kept, removed, moved, narrowed] = [testSecret(), testSecret(), testSecret(), testSecret()];
  await using file = await clientsFile([
    clientEntry('kept', [kept.entry]),
    clientEntry('removed', [removed.entry]),
    clientEntry('moved', [moved.entry]),
    clientEntry('narrowed', [narrowed.entry]),
  ]);
  const settings = { AUTH_CLIENTS_FILE: file.path };
  await using gateway = await openGateway(house.nats.url, settings, { clientsEveryMs: 100 });
  const ask = async (credential: string) => {
    const answer = await fetch(`${gateway.url}/api/v1/integration/events?wait=25`, {
      headers: { authorization: `Bearer ${credential}` },
    });
    const { events, code } = (await answer.json()) as { events?: { id: string }[]; code?: string };
    return [answer.status, code ?? events?.map(({ id }) => id)];
  };
  const exp = nowSeconds() + 4;
  const fetched = await fetch(`${gateway.url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`removed:${removed.secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const { access_token: issued } = (await fetched.json()) as { access_token: string };
  const credentials = [kept.secret, token(), removed.secret, issued, moved.secret, token({ exp })];
  const waiting = [...credentials, narrowed.secret].map(ask);
  await eventually(
    async () => /^webhook_feed_waiting\S* (\d+)$/m.exec(await (await fetch(metricsUrl)).text())?.[1],
    (count) => count === '7',
  );
  await file.replace([
    clientEntry('kept', [kept.entry]),
    clientEntry('moved', [moved.entry], { integration: 'other' }),
    clientEntry('narrowed', [narrowed.entry], { scope: 'integration:suppliers:read' }),
  ]);
  await expect.poll(() => gateway.logText()).toContain('AUTH_CLIENTS_FILE was read');
  await eventually(
    () => nowSeconds(),
    (now) => now > exp,
  );
  const ids = await house.as('acme').announce(2);
  const unauthorized = [401, 'unauthorized'];
  expect(await Promise.all(waiting)).toEqual([
    [200, ids],
    [200, ids],
    unauthorized,
    unauthorized,
    unauthorized,
    unauthorized,
    [403, 'insufficient_scope'],
  ]);
  // A request that is authorized twice is one use of its key.
  const uses = await (await fetch(gateway.metricsUrl)).text();
  expect(uses).toMatch(new RegExp(`uses_total{client="kept",secret="${kept.name}".*} 1$`, 'm'));
});
