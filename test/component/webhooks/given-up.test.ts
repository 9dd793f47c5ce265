// Requests that a frozen replica has in its socket while their caller gives up: the caller may since have had other replicas carry out
// newer requests, so the replica must not carry out the old ones when it goes on.
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { freeze } from '../../support/freeze.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse } from '../../support/webhooks.ts';

const url = 'http://127.0.0.1:9/hook';

it('a replica that was frozen changes no webhook by requests whose caller gave up meanwhile', async () => {
  await using house = await openHouse();
  await using replica = await startWebhookProcess(house.environment);
  const client = house.newClient();
  const { integration } = client;
  const { id } = await client.register(url);
  const stored = () =>
    house.store
      .collection('webhook_endpoints')
      .find({ integration }, { projection: { url: 1, secret: 1, version: 1 } })
      .toArray();
  const before = await stored();
  const bodies = {
    change: JSON.stringify({ url: `${url}/former` }),
    rotate: '',
    drill: '',
    register: JSON.stringify({ url, events: ['supplier.created'] }),
    replay: JSON.stringify({ since: new Date(Date.now() - 60_000).toISOString() }),
    remove: '',
  };
  {
    using _frozen = await freeze([replica.pid]);
    const given = Object.entries(bodies).map(([verb, body]) =>
      house.bus.request(`svc.webhooks.endpoints.${verb}`, {
        headers: { integration, 'request-id': `${verb} given up`, id },
        body,
        timeoutMs: 1_500,
      }),
    );
    expect((await Promise.allSettled(given)).map(({ status }) => status)).toEqual(
      given.map(() => 'rejected'),
    );
  }
  const answered = await eventually(
    () => replica.lines.filter((line) => line.includes('given up","') && line.includes('"outcome"')),
    (lines) => lines.length === Object.keys(bodies).length,
  );
  expect(answered.filter((line) => !line.includes('"outcome":"timeout"'))).toEqual([]);
  expect(await stored()).toEqual(before);
});
