// ops webhooks: an outage of this service has disabled many webhooks, and one command brings them back. DISABLED_WEBHOOKS=1000
// takes a minute more.
import { expect, test } from 'vitest';
import { runOps } from '../../support/ops.ts';
import { answer, openReceiver } from '../../support/receiver.ts';
import { openHouse } from '../../support/webhooks.ts';

const perClient = 20;
const count = Number(process.env['DISABLED_WEBHOOKS'] ?? 80);

test('ops webhooks --replay enables disabled webhooks and sends all missed events', async () => {
  await using house = await openHouse();
  await house.start();
  await using receiver = await openReceiver();
  const clients = Array.from({ length: count / perClient }, () => house.newClient());
  const bystander = house.newClient();
  const integrations = clients.map(({ integration }) => integration);
  const announce = (events: number) => Promise.all(clients.map((client) => client.announce(events)));
  for (let times = 0; times < perClient; times += 1)
    await Promise.all(clients.map((client) => client.register(receiver.url)));
  const before = new Date(Date.now() - 1_000).toISOString();
  const gone = await bystander.register(receiver.url);
  const paused = await bystander.register(receiver.url);
  await bystander.ask('change', { id: paused.id, body: { active: false } });
  const stored = house.store.collection<{
    _id: string;
    integration: string;
    failures: number;
    disabledReason: string;
  }>('webhook_endpoints');
  // As after nine failures through a broken proxy.
  await stored.updateMany({ integration: { $in: integrations } }, { $set: { failures: 9 } });
  receiver.behave(answer(500));
  await announce(1);
  await expect
    .poll(() => stored.countDocuments({ disabledReason: 'failures' }), { timeout: 120_000 })
    .toBe(count);
  await announce(3);
  receiver.behave(answer(410));
  await bystander.announce();
  await expect.poll(async () => (await stored.findOne({ _id: gone.id }))?.disabledReason).toBe('gone');

  const ops = (...args: string[]) =>
    runOps(['webhooks', '--disabled-since', before, ...args], house.environment);
  const isAsBefore = () =>
    stored.countDocuments({ disabledReason: 'failures', recovery: { $exists: false } });
  const looked = await ops('--json');
  expect([looked.code, JSON.parse(looked.stdout).webhooks.length]).toEqual([0, count]);
  expect((await ops()).stdout).toContain(
    `Failures have disabled ${count.toLocaleString('en')} webhooks since then.`,
  );
  expect((await ops()).stdout).not.toContain(receiver.url);
  expect(JSON.parse((await ops('--integration', bystander.integration, '--json')).stdout).webhooks).toEqual(
    [],
  );
  expect(await isAsBefore()).toBe(count);

  receiver.behave(answer(204));
  const hitsBefore = receiver.hits.length;
  const applied = await ops('--apply', '--replay', '--json');
  expect(applied.code).toBe(0);
  expect(JSON.parse(applied.stdout)).toMatchObject({ enabled: count, left: 0 });
  const hits = await receiver.received(hitsBefore + count * 4, { withinMs: 120_000 });
  const had = new Set(
    hits.slice(hitsBefore).map(({ headers }) => `${headers['x-webhook-id']} ${headers['webhook-id']}`),
  );
  expect(had.size).toBe(count * 4);
  expect(await stored.countDocuments({ disabledReason: 'failures' })).toBe(0);
  for (const { id } of [gone, paused]) expect((await bystander.ask('get', { id })).body.active).toBe(false);
  expect(JSON.parse((await ops('--json')).stdout).webhooks).toEqual([]);
}, 400_000);

test.each([
  [['webhooks'], '--disabled-since: expected'],
  [['webhooks', '--disabled-since', 'yesterday'], '--disabled-since: expected'],
  [['webhooks', '--disabled-since', '2026-03-31', '--replay'], '--replay goes with --apply'],
  [['webhooks', '--disabled-since', '2026-03-31', '--integration', ''], '--integration: 1 to 64 letters'],
])('ops webhooks refuses the arguments %j', async (args, words) => {
  expect(await runOps(args, {})).toMatchObject({ code: 2, stderr: expect.stringContaining(words) });
});
