// A push that was answered 200 is never overwritten by an older one whose caller got an error: not by a
// replica that stood still meanwhile, and not by an operation that was on its way to the database.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '@integration-sync/contracts';
import type { Stage } from '@integration-sync/sync';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { freeze } from '../../support/freeze.ts';
import { openMongodbProxy, type MongodbProxy } from '../../support/mongodb-proxy.ts';
import { startStoppingService, type StoppingService } from '../../support/stopping-service.ts';
import { openWorld, type Caller, type Plural, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

/** How long a caller waits for a push that may have gone to a replica that stands still. */
const patienceMs = 400;

const isTimeout = (error: unknown): boolean => error instanceof Failure && error.code === 'timeout';

interface Race {
  caller: Caller;
  /** The same integration, which gives a push up soon. */
  impatient: Caller;
  /** The same integration, which gives a push up when the test aborts it. */
  hesitant: Caller;
  giveUp: () => void;
}

function openRace(): Race {
  const caller = world.caller();
  const up = new AbortController();
  return {
    caller,
    impatient: world.caller(caller.integration, patienceMs),
    hesitant: world.caller(caller.integration, 30_000, up.signal),
    giveUp: () => up.abort(new Failure('timeout', 'given up')),
  };
}

/** Resolves once the push has been given up. */
async function givenUp(push: Promise<unknown>): Promise<void> {
  const error: unknown = await push.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toSatisfy(isTimeout);
}

/** Pushes until an awake replica takes it, each time another value; resolves with the acknowledged one. */
async function acknowledged(push: (value: string) => Promise<unknown>): Promise<string> {
  for (let attempt = 1; attempt <= 30; attempt += 1) {
    const value = `newer ${attempt}`;
    try {
      await push(value);
      return value;
    } catch (error) {
      if (!isTimeout(error)) throw error;
    }
  }
  throw new Error('no replica took the push');
}

async function valuesOf(plural: Plural, { integration }: Caller): Promise<Record<string, unknown>> {
  const documents = await world.store
    .collection<{ integration: string; externalId: string; fields: Record<string, unknown> }>(plural)
    .find({ integration })
    .toArray();
  return Object.fromEntries(
    documents.map(({ externalId, fields }) => [externalId, fields['name'] ?? fields['batchNumber']]),
  );
}

/** On the replica alone, so that the older push comes to it. */
async function stopAt(
  replica: StoppingService,
  stage: Stage | 'none',
  race: Race,
  older: (by: Caller) => Promise<unknown>,
) {
  if (stage !== 'none') {
    const given = givenUp(older(race.hesitant));
    await replica.reached();
    const frozen = await freeze([replica.pid]);
    race.giveUp();
    await given;
    return frozen;
  }
  const frozen = await freeze([replica.pid]);
  await givenUp(older(race.impatient));
  return frozen;
}

const record = (name: string) => [{ externalId: 'a', name }];

const names = (race: Race) => valuesOf('suppliers', race.caller);

describe('a replica that was stopped', () => {
  const kinds = [
    {
      service: 'catalog',
      plural: 'suppliers',
      item: (externalId: string, name: string) => ({ externalId, name }),
    },
    {
      service: 'batches',
      plural: 'batches',
      item: (externalId: string, batchNumber: string) => ({
        externalId,
        batchNumber,
        productExternalId: 'product',
      }),
    },
  ] as const;
  /** `left`: what it had written before it was stopped, and the newer push does not speak of. */
  const moments: { moment: string; stage: Stage | 'none'; left: boolean }[] = [
    { moment: 'before it read the push', stage: 'none', left: false },
    { moment: 'between reading and writing', stage: 'after-entry', left: false },
    { moment: 'in the middle of the writes', stage: 'amid-writes', left: true },
  ];
  /** A replica that stands still for less does not ask its caller again. */
  const stillMs = 1_100;

  describe.each(kinds)('a replica of $service', ({ service, plural, item }) => {
    const items = (value: string, ...ids: string[]) => ids.map((externalId) => item(externalId, value));
    const start = () => (service === 'catalog' ? world.startCatalog() : world.startBatches());

    // Timeline: the older push comes to a replica that stands still there. Its caller gets an error, and
    // pushes something newer, which another replica acknowledges. Then the first replica goes on.
    // What this proves: the rest of its work, and the requests in its sockets, no longer reach the database.
    it.each(moments)(
      'that was stopped $moment writes nothing after it is resumed',
      async ({ stage, left }) => {
        const race = openRace();
        const { caller, impatient } = race;
        await using _catalog = service === 'batches' ? await world.startCatalog() : undefined;
        {
          await using _before = await start();
          if (service === 'batches') await caller.push('products', [{ externalId: 'product', name: 'P' }]);
          await caller.push(plural, items('first', 'changed', 'bystander'));
        }
        await using replica = await startStoppingService(service, stage, world.environment);
        {
          using frozen = await stopAt(replica, stage, race, (by) =>
            by.push(plural, items('older', 'changed', 'new', 'left')),
          );
          const stands = wait(stillMs);
          await using _awake = await start();
          const value = await acknowledged((newer) => impatient.push(plural, items(newer, 'changed', 'new')));
          await stands;
          replica.goOn();
          frozen[Symbol.dispose]();
          await replica.finish();
          expect(await valuesOf(plural, caller)).toEqual({
            changed: value,
            new: value,
            bystander: 'first',
            ...(left ? { left: 'older' } : {}),
          });
        }
      },
    );
  });

  it('refuses the requests that wait in its sockets, and writes no record of them', async () => {
    const { caller, impatient } = openRace();
    await using replica = await startStoppingService('catalog', 'none', world.environment);
    await caller.push('suppliers', [{ externalId: 'bystander', name: 'N' }]);
    {
      using _frozen = await freeze([replica.pid]);
      await givenUp(impatient.push('suppliers', [{ externalId: 'late', name: 'N' }]));
    }
    // By then it has dealt with the requests before.
    await caller.push('suppliers', [{ externalId: 'after', name: 'N' }]);
    await replica.finish();
    expect(await valuesOf('suppliers', caller)).toEqual({ bystander: 'N', after: 'N' });
  });
});

describe('a delayed write', () => {
  let slow: MongodbProxy;
  let slower: MongodbProxy;

  beforeEach(async () => {
    slow = await openMongodbProxy(inject('engines').mongodb);
    slower = await openMongodbProxy(inject('engines').mongodb);
  });
  afterEach(async () => {
    await slow[Symbol.asyncDispose]();
    await slower[Symbol.asyncDispose]();
  });

  /** Its operation on the records waits at the first proxy, and its caller no longer waits. */
  async function holdOlder({ caller, hesitant, giveUp }: Race, command: 'find' | 'update') {
    const replica = await world.startCatalog({}, { MONGODB_URL: slow.url });
    await caller.push('suppliers', record('first'));
    const held = slow.holdNext(command, 'suppliers');
    const older = givenUp(hesitant.push('suppliers', record('older')));
    await held;
    giveUp();
    await older;
    return replica;
  }

  it('changes no record that a later push has changed', async () => {
    const race = openRace();
    await using replica = await holdOlder(race, 'update');
    await using _other = await world.startCatalog();
    await race.caller.push('suppliers', record('newer'));
    slow.release();
    await replica[Symbol.asyncDispose]();
    expect(await names(race)).toEqual({ a: 'newer' });
  });

  it('changes no record that a later push found unchanged', async () => {
    const race = openRace();
    await using replica = await holdOlder(race, 'update');
    await using _other = await world.startCatalog();
    expect(await race.caller.push('suppliers', record('first'))).toMatchObject({ updated: 1 });
    slow.release();
    await replica[Symbol.asyncDispose]();
    expect(await names(race)).toEqual({ a: 'first' });
  });

  // Timeline: the newer push has found the record as it wants it, and is about to note that. Only now does
  // the change of the older one arrive.
  // What this proves: the newer one notices, and does what it was acknowledged for.
  it('is noticed by a push that had found the record unchanged', async () => {
    const race = openRace();
    const { caller, hesitant } = race;
    await using replica = await startStoppingService('catalog', 'none', {
      ...world.environment,
      MONGODB_URL: slow.url,
    });
    await caller.push('suppliers', record('first'));
    const changing = slow.holdNext('update', 'suppliers');
    const older = givenUp(hesitant.push('suppliers', record('older')));
    await changing;
    using frozen = await freeze([replica.pid]);
    race.giveUp();
    await older;
    await using _other = await world.startCatalog({}, { MONGODB_URL: slower.url });
    const noting = slower.holdNext('update', 'suppliers');
    const newer = acknowledged(() =>
      world.caller(caller.integration, 3_000).push('suppliers', record('first')),
    );
    await noting;
    slow.release();
    await expect.poll(() => names(race)).toEqual({ a: 'older' });
    slower.release();
    await newer;
    expect(await names(race)).toEqual({ a: 'first' });
    frozen[Symbol.dispose]();
    await replica.finish();
    expect(await names(race)).toEqual({ a: 'first' });
  });

  // Timeline: the older push has taken its place in the order of pushes, and reads late: it finds what the
  // newer one wrote, which it would change on the spot.
  // What this proves: it first asks whether its caller still waits.
  it('fails where a later push wrote the record', async () => {
    const race = openRace();
    await using replica = await holdOlder(race, 'find');
    await using _other = await world.startCatalog();
    await race.caller.push('suppliers', record('newer'));
    slow.release();
    await replica[Symbol.asyncDispose]();
    expect(await names(race)).toEqual({ a: 'newer' });
  });
});
