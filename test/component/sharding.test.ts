// On a sharded MongoDB a command that does not say which shard it is for goes to all of them. The services do here all that they
// are asked for, and all that they do by themselves after a crash, and the driver tells of every command that they send.
import { readConfig } from '@integration-sync/runtime/config';
import { openLog } from '@integration-sync/runtime/log';
import type { SentCommand } from '@integration-sync/runtime/store';
import { startWebhooks } from '@integration-sync/webhooks';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { settledWithinMs } from '../support/left-behind.ts';
import { openMongos } from '../support/mongos.ts';
import { answer, openReceiver, type Receiver } from '../support/receiver.ts';
import { isTargeted, partsOf, readSharding, type Part, type Sharding } from '../support/shard-keys.ts';
import { openWorld, type Caller, type World } from '../support/sync.ts';
import { clientOf } from '../support/webhooks.ts';
import { openNats, untilTaken } from '../upgrade/nats.ts';
import { readKnown, restore } from '../upgrade/restore.ts';

/** What goes to all shards on purpose: the collection, the command, the fields that it looks for, and why. */
const toAllShards: readonly [RegExp, string, string, string][] = [
  [/_heads$/, 'find', 'open', 'the sweeper looks for pushes that died, in all integrations'],
  [/_journal$/, 'find', 'due', 'the sweeper looks for pushes that were left behind, in all integrations'],
  [/_journal$/, 'update', 'due', 'a start looks for pushes that a clock put off, in all integrations'],
  [/_journal$/, 'aggregate', 'due,watched', 'a metric counts what is not announced yet, in all integrations'],
  [
    /_journal$/,
    'find',
    'due,integration,state',
    'webhooks asks, when one is registered, what is not announced yet',
  ],
  [/_journal$/, 'update', '$or,entityType,errors.externalId', 'an erasure looks for what errors quote'],
  [
    /_journal$/,
    'find',
    '_id,errors,integration',
    'an erasure looks for errors of records that referred to one',
  ],
  [/_journal$/, 'find', 'due,errors,hiddenFrom', 'the same, of pushes whose end is not written yet'],
  [/_journal$/, 'find', 'integration', 'GET /sync-runs takes the newest of each shard'],
  [/_journal$/, 'find', '_id,integration', 'the same after a cursor, or with since'],
  [/_journal$/, 'find', 'entityType,integration', 'the same, of one kind'],
  [/_journal$/, 'find', 'failed,integration', 'the same, of those that failed'],
  [/_journal$/, 'aggregate', 'integration', 'GET /sync-runs counts'],
  [/_journal$/, 'aggregate', '_id,integration', 'the same, with since'],
  [/_journal$/, 'aggregate', 'entityType,integration', 'the same, of one kind'],
  [/_journal$/, 'aggregate', 'failed,integration', 'the same, of those that failed'],
];

const fieldsOf = ({ content }: Part): string => Object.keys(content).toSorted().join();

const purposeOf = (part: Part) =>
  toAllShards.find(
    ([collection, command, fields]) =>
      collection.test(part.collection) && command === part.command && fields === fieldsOf(part),
  );

const closing = new AsyncDisposableStack();
const sent: SentCommand[] = [];
const onCommand = (command: SentCommand): void => void sent.push(command);
let sharding: Sharding;
let world: World;
let receiver: Receiver;

beforeAll(async () => {
  sharding = await readSharding();
  const mongos = closing.use(await openMongos(inject('engines').mongodb));
  world = closing.use(await openWorld(mongos.url));
  receiver = closing.use(await openReceiver());
});
afterAll(() => closing.disposeAsync());

const items = (prefix: string, count: number, fields: object = {}) =>
  Array.from({ length: count }, (_, nth) => ({
    externalId: `${prefix}-${nth}`,
    name: `N ${nth}`,
    ...fields,
  }));

const hoursAhead = (hours: number) => (): number => Date.now() + hours * 3_600_000;

/** What the release before left behind in the middle of pushes is settled, and looked at once more. */
async function finishWhatWasLeft(): Promise<void> {
  await restore({ store: world.store, natsUrl: world.nats.url, receiverPort: receiver.port });
  for (const now of [hoursAhead(1), hoursAhead(2)]) {
    await using _catalog = await world.startCatalog({ onCommand, now });
    await using _batches = await world.startBatches({ onCommand, now });
    for (const service of ['catalog', 'batches']) {
      await eventually(
        () => world.store.collection(`${service}_journal`).countDocuments({ due: { $lt: new Date(now()) } }),
        (count) => count === 0,
        settledWithinMs,
      );
    }
  }
}

async function startAll(): Promise<void> {
  const { secretKey } = await readKnown();
  const { metricsUrl } = await world.startCatalog({ onCommand });
  await world.startBatches({ onCommand });
  const config = readConfig(WebhooksConfig, {
    ...world.environment,
    WEBHOOK_SECRET_KEY: secretKey,
    WEBHOOK_EGRESS_ALLOW: '127.0.0.0/8',
  });
  const log = openLog({ service: 'webhooks', level: 'silent' });
  closing.use(await startWebhooks(config, { log, onCommand }));
  await (await fetch(metricsUrl)).text();
}

async function pushAll(caller: Caller): Promise<void> {
  await caller.push('suppliers', items('S', 30));
  await caller.push('suppliers', items('S', 30));
  await caller.push('suppliers', items('S', 30, { code: 'changed' }));
  // Changed by more pushes than are noted with one command each.
  for (let nth = 0; nth < 6; nth += 1)
    await caller.push('suppliers', [{ externalId: `S-${nth}`, name: `N ${nth}`, code: `of ${nth}` }]);
  await caller.push(
    'suppliers',
    items('S', 30, { code: 'changed' }).map((item, nth) =>
      nth < 6 ? Object.assign({}, item, { code: `of ${nth}` }) : item,
    ),
  );
  const races = ['a', 'b', 'c', 'd'].map((code) => caller.push('suppliers', items('S', 30, { code })));
  await Promise.all(races);
  await caller.push('suppliers', [{ externalId: 'wrong' }, ...items('T', 1)]);
  await caller.push('products', items('P', 3, { supplierExternalId: 'S-0' }));
  const batches = [0, 1, 2].map((nth) => ({
    externalId: `B-${nth}`,
    batchNumber: `LOT-${nth}`,
    productExternalId: `P-${nth}`,
  }));
  await caller.push('batches', batches, { autoCreateDDS: true });
  await caller.push('batches', batches, { autoCreateDDS: true });
  await caller.plan('suppliers', items('S', 3, { code: 'planned' }));
  await caller.plan('batches', batches, { autoCreateDDS: true });
  await caller.archive('products', ['P-2']);
  await caller.erase(['S-29']);
}

async function listAll(caller: Caller): Promise<void> {
  const yesterday = new Date(Date.now() - 86_400_000).toISOString();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  for (const query of [
    'limit=10',
    'limit=10&page=2',
    `limit=10&since=${yesterday}`,
    `limit=10&until=${tomorrow}`,
    'externalId=S-1&externalId=S-2&details=true',
  ]) {
    const { next } = await caller.list('suppliers', query);
    if (next !== undefined) await caller.list('suppliers', next);
  }
  expect((await caller.dds('limit=2')).total).toBe(3);
  for (const query of ['limit=2', `since=${yesterday}`, 'entityType=batch', 'failed=true']) {
    const { next, entities } = await caller.runs(query);
    if (next !== undefined) await caller.runs(next);
    for (const { syncId } of entities.slice(0, 1)) await caller.run(syncId);
  }
}

async function useWebhooks(caller: Caller): Promise<void> {
  const webhooks = clientOf(world.bus, caller.integration);
  const url = (path: string): string => receiver.url.replace('/hook', path);
  receiver.behave((hit, response, request) => {
    const status = { '/failing': 500, '/gone': 410 }[hit.path] ?? 204;
    answer(status)(hit, response, request);
  });
  const since = new Date().toISOString();
  const ids: string[] = [];
  for (const path of ['/well', '/failing', '/gone']) {
    const { body } = await webhooks.ask('register', {
      key: path,
      body: { url: url(path), events: ['supplier.created'] },
    });
    ids.push(body.id);
  }
  const [id = ''] = ids;
  await caller.push('suppliers', items('W', 3));
  await receiver.received(5, { where: ({ path }) => ['/well', '/failing', '/gone'].includes(path) });
  await webhooks.ask('list', { query: 'limit=2' });
  await webhooks.ask('get', { id });
  await webhooks.ask('change', { id, body: { events: ['supplier.created', 'supplier.updated'] } });
  await webhooks.ask('change', { id, body: { active: false } });
  await webhooks.ask('change', { id, body: { active: true } });
  await webhooks.ask('rotate', { id, body: { gracePeriodSeconds: 60 } });
  await webhooks.ask('test', { id });
  await webhooks.ask('drill', { id });
  await webhooks.ask('replay', { id, body: { since } });
  await webhooks.ask('deliveries', { id, query: 'limit=5' });
  await webhooks.ask('remove', { id: ids[1] ?? '' });
  await using nats = await openNats(world.nats.url);
  await untilTaken(nats, world.store, settledWithinMs);
}

describe('every command that the services send to MongoDB', () => {
  beforeAll(async () => {
    await finishWhatWasLeft();
    await startAll();
    const caller = world.caller();
    await pushAll(caller);
    await listAll(caller);
    await useWebhooks(caller);
  }, 240_000);

  it('is for a collection that docs/operating.md names as sharded or not sharded', () => {
    const collections = new Set(sent.flatMap((one) => partsOf(one).map(({ collection }) => collection)));
    const said = [...sharding.keys.keys(), ...sharding.whole];
    expect([...collections].filter((one) => !said.includes(one))).toEqual([]);
    // Only the removal of an integration's data uses this collection.
    expect(said.filter((one) => !collections.has(one))).toEqual(['webhook_removals']);
  });

  it('has the shard key, unless it is one of the commands to all shards', () => {
    const used = new Set<(typeof toAllShards)[number]>();
    const seen = new Map<string, number>();
    for (const part of sent.flatMap(partsOf)) {
      const key = sharding.keys.get(part.collection);
      if (key === undefined || isTargeted(part, key)) continue;
      const purpose = purposeOf(part);
      if (purpose !== undefined) {
        used.add(purpose);
        continue;
      }
      const words = `${part.command} ${part.collection} by ${fieldsOf(part)}`;
      seen.set(words, (seen.get(words) ?? 0) + 1);
    }
    expect([...seen]).toEqual([]);
    expect(toAllShards.filter((purpose) => !used.has(purpose))).toEqual([]);
  });

  it('has a hint for the index of ids where the planner could choose another index', () => {
    const records = new Set(['suppliers', 'products', 'batches', 'dds']);
    const hints = sent
      .filter(({ name, command }) => records.has(String(command[name])))
      .flatMap(({ name, command }) => {
        if (name === 'find' && command['sort'] !== undefined)
          return [{ filter: command['filter'], hint: command['hint'] }];
        if (name !== 'update') return [];
        return command['updates'].map((one: Part['content']) => ({ filter: one['q'], hint: one['hint'] }));
      })
      .filter(({ filter }) => '_id' in filter);
    expect(hints.length).toBeGreaterThan(50);
    expect(hints.filter(({ hint }) => hint !== '_id_')).toEqual([]);
  });

  it('was sent by these tests at least once', () => {
    const seen = new Set(
      sent.flatMap((one) => partsOf(one).map((part) => `${part.command} ${part.collection}`)),
    );
    for (const collection of ['suppliers', 'batches']) {
      for (const command of ['find', 'insert', 'update', 'aggregate']) {
        if (command === 'aggregate' && collection === 'batches') continue;
        expect(seen).toContain(`${command} ${collection}`);
      }
    }
    for (const command of ['find', 'insert', 'update', 'findAndModify', 'delete', 'aggregate'])
      expect(seen).toContain(`${command} catalog_journal`);
    for (const command of ['find', 'insert', 'update', 'findAndModify'])
      expect(seen).toContain(`${command} catalog_heads`);
  });
});
