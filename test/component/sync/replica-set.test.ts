// What only a replica set does, played by a stand-in before the database: index builds that wait for a member that is down,
// elections, retried writes, errors by code, and a primary that was replaced and does not know it.
import { Failure, type ListingEntity } from '@integration-sync/contracts';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { startCatalog } from '@integration-sync/catalog';
import { readConfig } from '@integration-sync/runtime/config';
import { Long } from 'mongodb';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { findPort } from '../../../dev/process/port.ts';
import { openGateway } from '../../support/gateway.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestLog } from '../../support/log.ts';
import {
  notPrimary,
  openReplicaSet,
  playOnce,
  serverError,
  type Command,
  type ReplicaSet,
} from '../../support/replica-set.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

let world: World;
let set: ReplicaSet;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  set = await openReplicaSet(inject('engines').mongodb);
  await world.startCatalog({}, { MONGODB_URL: set.url });
  await world.startBatches();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await set[Symbol.asyncDispose]();
});

const is = (name: string, on: string) => (command: Command) => command.name === name && command.on === on;

/** Repeats a request for as long as it is answered 503; any other failure counts. */
async function until200<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'unavailable' || tries === 20) throw error;
    }
  }
}

const first = [
  { externalId: 'a', name: 'N', code: 'old' },
  { externalId: 'b', name: 'N', code: 'old' },
];
const second = [
  { externalId: 'a', name: 'N', code: 'new' },
  { externalId: 'b', name: 'N', code: 'old' },
  { externalId: 'c', name: 'N' },
];

/** Creates, changes, repeats, refers and reads: every command that requests of catalog send. */
async function work(caller: Caller): Promise<void> {
  await until200(() => caller.push('suppliers', first));
  await until200(() => caller.push('suppliers', second));
  await until200(() => caller.push('suppliers', second));
  const products = [{ externalId: 'p', name: 'N', supplierExternalId: 'c' }];
  expect((await until200(() => caller.push('products', products))).errors).toEqual([]);
  await until200(() => caller.runs());
  const { total } = await until200(() => caller.list('suppliers', 'changedSince=2020-01-01'));
  expect(total).toBe(3);
}

const isCompleted = (one: { body: { event: string } }): boolean => one.body.event === 'sync.completed';

type Detailed = ListingEntity & { details?: { fields: { code?: string } } };

/** What a caller sees in the end, whatever was played: each record once, as the last answered push has it, and each event once. */
async function expectWhole(caller: Caller): Promise<void> {
  const entities: Detailed[] = (await caller.list('suppliers', 'details=true')).entities;
  const stored = entities.map(({ externalId, details }) => [externalId, details?.fields.code]);
  expect(stored).toEqual([
    ['a', 'new'],
    ['b', 'old'],
    ['c', undefined],
  ]);
  const announced = async () => {
    const { entities: runs } = await caller.runs('limit=100');
    return { runs, events: await caller.events() };
  };
  const { events } = await eventually(
    announced,
    (seen) =>
      seen.runs.every(({ state }) => state === 'completed') &&
      seen.events.filter(isCompleted).length === seen.runs.length,
  );
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  const told = events.flatMap(({ body: { event, data } }) =>
    'externalId' in data ? [`${event} ${data.externalId}`] : [],
  );
  expect(told.toSorted()).toEqual([
    'product.created p',
    'supplier.created a',
    'supplier.created b',
    'supplier.created c',
    'supplier.updated a',
  ]);
}

describe('a push on a replica set', () => {
  const errors = [
    serverError(43, 'CursorNotFound'),
    serverError(175, 'QueryPlanKilled'),
    serverError(11_601, 'Interrupted'),
    serverError(13, 'Unauthorized'),
    serverError(18, 'AuthenticationFailed'),
    serverError(11_602, 'InterruptedDueToReplStateChange', 'RetryableWriteError'),
    notPrimary,
  ];

  // Setup: each command that requests send meets four errors in turn, or its connection ends before or after it took effect.
  // What this proves: a caller reads 200 or 503, never 500, and repeats. Nothing is lost, half done or announced twice.
  it(
    'is completed whichever command meets an error, an election or a lost connection',
    { timeout: 120_000 },
    async () => {
      const kinds = new Set<string>();
      // A replica makes the index of `changedSince` once.
      const atFirstUse = new Set(['listIndexes suppliers', 'createIndexes suppliers', 'aggregate suppliers']);
      {
        using _watching = set.play(({ name, on }) => {
          if (name !== 'ping') kinds.add(`${name} ${on}`);
          return 'pass';
        });
        const caller = world.caller();
        await work(caller);
        await expectWhole(caller);
      }
      const callers: Caller[] = [];
      const commands = [...kinds].filter((kind) => !atFirstUse.has(kind)).map((kind) => kind.split(' '));
      const plays = [...errors, 'cut', 'cut after'] as const;
      for (let round = 0; round < 4; round += 1) {
        using playing = new DisposableStack();
        const once = commands.map(([name = '', on = ''], place) =>
          playing.use(playOnce(set, is(name, on), () => plays[(place + 2 * round) % plays.length] ?? 'cut')),
        );
        const some = [world.caller(), world.caller(), world.caller()];
        await Promise.all(some.map(work));
        expect(once.map(({ has }) => has())).toEqual(commands.map(() => true));
        callers.push(...some);
      }
      // A replica whose clock is an hour ahead finishes what failed pushes have left.
      await using _survivor = await world.startCatalog({ now: () => Date.now() + 60 * 60 * 1_000 });
      await Promise.all(callers.map(expectWhole));
    },
  );
});

describe('an index build that waits for a member that is down', () => {
  const database = 'indexes_' + crypto.randomUUID().slice(0, 8);
  const environment = () => ({ ...world.environment, MONGODB_URL: set.url, MONGODB_DATABASE: database });

  it('waits only for a majority, so that a new release starts', async () => {
    using _down = set.play(({ name, body }) =>
      name === 'createIndexes' && body['commitQuorum'] !== 'majority' ? 'hang' : 'pass',
    );
    const config = readConfig(CatalogConfig, environment());
    await using started = await startCatalog(config, { log: openTestLog().log });
    expect((await fetch(new URL('/ready', started.metricsUrl))).status).toBe(200);
  });

  it(
    'keeps a new replica unready, which logs the wait, while the other replicas serve',
    { timeout: 60_000 },
    async () => {
      const goOn = Promise.withResolvers<'pass'>();
      using _hanging = set.play(({ name, on }) =>
        name === 'createIndexes' && on === 'catalog_journal' ? goOn.promise : 'pass',
      );
      const handlers = { 'svc.webhooks.health.check': async () => ({ body: '' }) };
      const identity = { service: 'webhooks', version: '1.0.0', description: 'is there' } as const;
      await using _webhooks = await world.bus.serve({ ...identity, inFlightMax: 1, handlers });
      await using gateway = await openGateway(world.nats.url, {}, { readinessRememberedMs: 0 });
      const { log, text } = openTestLog();
      const port = await findPort();
      const config = readConfig(CatalogConfig, { ...environment(), METRICS_PORT: String(port) });
      const starting = startCatalog(config, { log });
      onTestFinished(async () => {
        goOn.resolve('pass');
        await (await starting)[Symbol.asyncDispose]();
      });
      const ready = async (): Promise<string> => {
        const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
        return answer === undefined ? 'no answer' : `${answer.status} ${(await answer.text()).trim()}`;
      };
      const waited = 'MongoDB builds indexes of catalog_journal';
      await eventually(ready, (said) => said === `503 the start has not ended: ${waited}`);
      expect(text()).toMatch(
        /"level":"warn".*"collection":"catalog_journal".*waiting for MongoDB to build indexes/,
      );

      const caller = world.caller();
      const readiness = async () => {
        const answer = await fetch(`${gateway.url}/readyz`);
        return [answer.status, await answer.json()];
      };
      // A queue group gives each request to any of its replicas.
      for (let times = 0; times < 10; times += 1) {
        const { errors } = await caller.push('suppliers', first);
        expect(errors).toEqual([]);
        expect(await readiness()).toMatchObject([
          200,
          // Another note says that this replica has a database of its own.
          {
            notes: expect.arrayContaining([
              { pointer: 'catalog', detail: `A replica is starting: ${waited}.` },
            ]),
          },
        ]);
      }
      goOn.resolve('pass');
      await eventually(ready, (said) => said === '200 ready');
    },
  );
});

describe('a MongoDB primary that does not know that it was replaced', () => {
  // Timeline: the replica reaches the former primary alone, which lacks the newest supplier, and asks it for the supplier of a
  // product. Then the replica reaches the new primary, too.
  // What this proves: that no supplier was found counts only once a primary has confirmed that it is the primary.
  it('does not make a referenced record count as absent', { timeout: 30_000 }, async () => {
    await using there = await openWorld(inject('engines').mongodb);
    await using parted = await openReplicaSet(inject('engines').mongodb);
    await there.startCatalog({}, { MONGODB_URL: parted.url });
    const caller = there.caller();
    await caller.push('suppliers', [{ externalId: 's', name: 'N' }]);
    parted.reach('second', false);
    parted.replaceUnnoticed('first');
    const stepDown = (): void => {
      parted.elect('second');
      parted.reach('second', true);
    };
    const asked: string[] = [];
    using _former = parted.play(({ member, name, on, body, mentions }) => {
      if (member !== 'first') return 'pass';
      const level: unknown = body['readConcern']?.level;
      if (name === 'find' && on === 'suppliers') asked.push(String(level));
      if (level === 'linearizable') {
        stepDown();
        return serverError(11_602, 'InterruptedDueToReplStateChange');
      }
      if (name === 'find' && on === 'suppliers') return foundNothing(on);
      if (name !== 'insert' || !mentions(caller.integration)) return 'pass';
      stepDown();
      return notPrimary;
    });
    const products = [{ externalId: 'p', name: 'N', supplierExternalId: 's' }];
    expect((await until200(() => caller.push('products', products))).errors).toEqual([]);
    expect(asked).toEqual(['majority', 'linearizable']);
  });
});

const foundNothing = (on: string) => ({ ok: 1, cursor: { id: Long.ZERO, ns: `test.${on}`, firstBatch: [] } });
