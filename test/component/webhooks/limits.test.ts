// Limits of nats-server below what webhooks asks for: webhooks delivers within them, or says that it cannot.
import { Failure } from '@integration-sync/contracts';
import { expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openReceiver } from '../../support/receiver.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

const jetstream = (...lines: string[]) => [
  'jetstream {',
  '  store_dir: $NATS_STORE_DIR',
  '  sync_interval: always',
  ...lines,
  '}',
];
const limitedTo = (...limits: string[]) =>
  jetstream('  limits {', ...limits.map((line) => `    ${line}`), '  }');

const health = (house: House): Promise<string> =>
  house.bus.request('svc.webhooks.health.check', { timeoutMs: 5_000 }).then(
    ({ body }) => Buffer.from(body).toString(),
    (error: unknown) => (error instanceof Failure ? error.detail : String(error)),
  );

// Setup: a nats-server of which a consumer may ask 3 messages at once, where the reader of the log asks for 256.
it('webhooks delivers where nats-server limits unacknowledged messages', async () => {
  await using house = await openHouse({ natsLines: limitedTo('max_request_batch: 3') });
  await house.start();
  await using receiver = await openReceiver();
  const acme = house.newClient();
  await acme.register(`${receiver.url}/hook`);
  const ids = [...(await acme.announce(5)), ...(await acme.announce(5)), ...(await acme.announce(5))];
  await receiver.received(ids.length);
  expect(await health(house)).toBe('{"status":"ok"}');
});

// Setup: a user of NATS who may do everything but read event batches, neither as they come nor later.
// What this proves: readiness says that the replica reads nothing, and is good again once the replica may
// read.
it('webhooks is not ready while nats-server delivers no message to it, and names the unread stream', async () => {
  const all = '{ user: all, password: p }';
  const deny = {
    publish: { deny: '$JS.API.DIRECT.GET.EVENT_BATCHES' },
    subscribe: { deny: 'event-batches.*.*.*' },
  };
  const limited = `{ user: deaf, password: p, permissions: ${JSON.stringify(deny)} }`;
  await using house = await openHouse({
    natsLines: [...jetstream(), 'no_auth_user: all', `authorization { users: [ ${all}, ${limited} ] }`],
  });
  await house.start();
  await house.newClient().announce(1);
  expect(await health(house)).toBe('{"status":"ok"}');
  const url = house.nats.url.replace('//', '//deaf:p@');
  await using _deaf = await house.start({}, { NATS_URL: url });
  // Both replicas answer in turns.
  const seen = new Set<string>();
  await eventually(
    async () => {
      await house.newClient().announce(1);
      return seen.add(await health(house));
    },
    () => seen.size === 2,
    30_000,
  );
  expect([...seen].toSorted()).toEqual([
    'The stream EVENT_BATCHES is not read; log lines of webhooks say why.',
    '{"status":"ok"}',
  ]);
});
