// ops reseal: the old key may go, without a rotation by any customer, beside replicas that run and callers that rotate.
import { openReseal, openVault } from '@integration-sync/webhooks/operating';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openEndpoints } from '../../../services/webhooks/src/endpoints/endpoint-store.ts';
import { runOps, startOps } from '../../support/ops.ts';
import { openReceiver, type Hit, type Receiver } from '../../support/receiver.ts';
import { openHouse, secretKey, secretKeyOf, type House } from '../../support/webhooks.ts';

let house: House;
let receiver: Receiver;
beforeEach(async () => {
  house = await openHouse();
  receiver = await openReceiver();
});
afterEach(async () => {
  await receiver[Symbol.asyncDispose]();
  await house[Symbol.asyncDispose]();
});

const newKey = secretKeyOf('second', 8);
const bothKeys = `${newKey},${secretKey}`;

const startWith = (keys: string) => house.start({}, { WEBHOOK_SECRET_KEY: keys });
const ops = (keys: string, ...args: string[]) =>
  runOps(['reseal', ...args], { ...house.environment, WEBHOOK_SECRET_KEY: keys });

const stored = () => house.store.collection<Endpoint>('webhook_endpoints');
const all = () => stored().find({}).sort({ _id: 1 }).toArray();
const sealedOf = ({ secret, previousSecrets = [] }: Endpoint): string[] => [
  secret,
  ...previousSecrets.map(({ sealed }) => sealed),
];
const keysOf = (endpoints: readonly Endpoint[]) => [
  ...new Set(endpoints.flatMap(sealedOf).map((sealed) => sealed.split(':', 1)[0])),
];

function expectSigned({ headers, body }: Hit, secret: string): void {
  expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
}

test('after ops reseal, a replica that has only the new key signs with the same secrets', async () => {
  const client = house.newClient();
  const registered = await (async () => {
    await using _ = await startWith(secretKey);
    return await client.register(receiver.url);
  })();
  await using replica = await startWith(bothKeys);
  const { body: rotated } = await client.ask('rotate', {
    id: registered.id,
    body: { gracePeriodSeconds: 3_600 },
  });

  const before = await all();
  expect(await ops(bothKeys)).toMatchObject({ code: 0, stdout: expect.stringContaining('first') });
  expect((await ops(bothKeys, '--check')).code).toBe(3);
  expect(await all()).toEqual(before);

  const done = await ops(bothKeys, '--apply');
  expect(done).toMatchObject({ code: 0 });
  expect(done.stdout).toContain('No secret is under another key than "second".');
  expect(keysOf(await all())).toEqual(['second']);
  expect(await ops(bothKeys, '--check')).toMatchObject({ code: 0 });
  const after = await all();
  expect(await ops(bothKeys, '--apply')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('0 webhooks were sealed again'),
  });
  expect(await all()).toEqual(after);

  await replica[Symbol.asyncDispose]();
  await using _ = await startWith(newKey);
  await client.announce();
  const [hit] = await receiver.received(1);
  if (hit === undefined) throw new Error('nothing was delivered');
  expectSigned(hit, registered.secret);
  expectSigned(hit, rotated.secret);
  const printed = JSON.stringify([done]);
  for (const secret of [
    registered.secret,
    rotated.secret,
    ...bothKeys.split(/[,:]/).filter((part) => part.length > 30),
  ])
    expect(printed).not.toContain(secret);
});

test('a secret that is rotated during ops reseal keeps its new value', async () => {
  const client = house.newClient();
  const { id, secret } = await (async () => {
    await using _ = await startWith(secretKey);
    return await client.register(receiver.url);
  })();
  await using _ = await startWith(bothKeys);
  const rotations: string[] = [];
  const endpoints = stored();
  // The database itself, with a caller who is quicker than the first write.
  const quicker = new Proxy(endpoints, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      return async (...input: unknown[]) => {
        if (rotations.length === 0)
          rotations.push((await client.ask('rotate', { id, body: {} })).body.secret);
        return Reflect.apply(member, target, input);
      };
    },
  });
  const withCaller = new Proxy(endpoints, {
    get: (target, key) => Reflect.get(key === 'updateOne' ? quicker : target, key),
  });
  const vault = openVault(bothKeys);
  const reseal = openReseal({ collection: () => withCaller as never }, vault);
  expect(await reseal.run(() => undefined)).toEqual({ resealed: 1, changedMeanwhile: 1, problems: [] });
  const [found] = await all();
  expect(found && sealedOf(found).map((sealed) => vault.open(sealed, id))).toEqual([rotations[0], secret]);
  expect(keysOf(await all())).toEqual(['second']);
});

test('a rotation that read a secret before ops reseal does not store it under the old key', async () => {
  const client = house.newClient();
  {
    await using _ = await startWith(secretKey);
    await client.register(receiver.url);
  }
  const endpoints = await openEndpoints(house.store);
  const [read] = await all();
  if (read === undefined) throw new Error('there is no endpoint');
  expect(await ops(bothKeys, '--apply')).toMatchObject({ code: 0 });
  const previousSecrets = [{ sealed: read.secret, expiresAt: new Date(Date.now() + 60_000) }];
  expect(await endpoints.change(read, { $set: { previousSecrets } })).toBeNull();
  expect(keysOf(await all())).toEqual(['second']);
});

test('after kill -9 of ops reseal each secret is whole, and the next run seals the remaining secrets', async () => {
  const client = house.newClient();
  {
    await using _ = await startWith(secretKey);
    await client.register(receiver.url);
  }
  const [pattern] = await all();
  if (pattern === undefined) throw new Error('there is no endpoint');
  const old = openVault(secretKey);
  const secrets = new Map(
    Array.from({ length: 1_500 }, (_, n) => [`wh_${String(n).padStart(32, '0')}`, `whsec_${n}`]),
  );
  await stored().deleteMany({});
  await stored().insertMany(
    Array.from(secrets, ([_id, secret]) => ({ ...pattern, _id, secret: old.seal(secret, _id) })),
  );
  await using running = startOps(['reseal', '--apply'], {
    ...house.environment,
    WEBHOOK_SECRET_KEY: bothKeys,
  });
  await running.said('of 1,500 sealed again');
  await running.kill();
  const vault = openVault(bothKeys);
  const opened = (endpoints: readonly Endpoint[]) =>
    new Map(endpoints.map(({ _id, secret }) => [_id, vault.open(secret, _id)]));
  const between = await all();
  expect(new Set(keysOf(between))).toEqual(new Set(['first', 'second']));
  expect(opened(between)).toEqual(secrets);

  expect(await ops(bothKeys, '--apply')).toMatchObject({ code: 0 });
  const after = await all();
  expect(keysOf(after)).toEqual(['second']);
  expect(opened(after)).toEqual(secrets);
  expect(after.every(({ version }) => version === pattern.version + 1)).toBe(true);
});

test.each([
  ['lacks the new key', secretKey],
  ['has other bytes under its name', `${secretKeyOf('second', 9)},${secretKey}`],
])('ops reseal seals nothing while a replica %s', async (_how, keysOfReplica) => {
  await using _ = await startWith(keysOfReplica);
  await house.newClient().register(receiver.url);
  const before = await all();
  const refused = await ops(bothKeys, '--apply');
  expect(refused).toMatchObject({ code: 3 });
  expect(refused.stderr).toContain(
    '1 of 1 replicas of webhooks do not have the key "second" as it is configured here',
  );
  expect(await all()).toEqual(before);
});

test('ops reseal names a replica that seals with the old key', async () => {
  await using _ = await startWith(`${secretKey},${newKey}`);
  await house.newClient().register(receiver.url);
  const done = await ops(bothKeys, '--apply');
  expect(done.code).toBe(3);
  expect(done.stdout).toContain('1 of 1 replicas of webhooks still seal with another key');
  expect(keysOf(await all())).toEqual(['second']);
});

test('ops reseal names and keeps a secret that no key opens, and drops an expired secret', async () => {
  const client = house.newClient();
  const ids: string[] = [];
  {
    await using _ = await startWith(secretKey);
    for (let n = 0; n < 3; n += 1) ids.push((await client.register(receiver.url)).id);
  }
  const [lost = '', expired = '', serving = ''] = ids;
  const foreign = openVault(secretKeyOf('lost', 5));
  const previous = (id: string, inMs: number) => [
    { sealed: foreign.seal('whsec_x', id), expiresAt: new Date(Date.now() + inMs) },
  ];
  await stored().updateOne({ _id: lost }, { $set: { secret: foreign.seal('whsec_x', lost) } });
  await stored().updateOne({ _id: expired }, { $set: { previousSecrets: previous(expired, -120_000) } });
  await stored().updateOne({ _id: serving }, { $set: { previousSecrets: previous(serving, 120_000) } });

  const done = await ops(bothKeys, '--apply', '--json');
  expect(done.code).toBe(3);
  expect(JSON.parse(done.stdout)).toMatchObject({ left: 2, resealed: 2 });
  expect(
    JSON.parse(done.stdout)
      .problems.map((one: { endpointId: string }) => one.endpointId)
      .toSorted(),
  ).toEqual([lost, serving].toSorted());
  const after = new Map((await all()).map((endpoint) => [endpoint._id, sealedOf(endpoint)]));
  const keysIn = (id: string) => after.get(id)?.map((sealed) => sealed.split(':', 1)[0]);
  expect([keysIn(lost), keysIn(expired), keysIn(serving)]).toEqual([
    ['lost'],
    ['second'],
    ['second', 'lost'],
  ]);
});
