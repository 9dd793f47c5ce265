// Batches dies while the numbers of batches come, change and go: statements and batches agree afterwards, and each change is
// announced once.
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { anHourAhead, settledWithinMs } from '../../support/left-behind.ts';
import {
  batch,
  expectAgreement,
  expectChain,
  listAllDds,
  numbers,
  textOf,
  toldOfStatements,
} from '../../support/statements.ts';
import { startStoppingService } from '../../support/stopping-service.ts';
import { openWorld, type Caller, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await world.startCatalog();
});
afterAll(() => world[Symbol.asyncDispose]());

async function callerWithProduct(): Promise<Caller> {
  const caller = world.caller();
  await caller.push('products', [{ externalId: 'p', name: 'P', hsCode: '4407' }]);
  return caller;
}

const isWhole = ({ entities }: { entities: { state: string }[] }): boolean =>
  entities.every(({ state }) => state === 'completed');

it(
  'a push that died between its writes of batches and of statements is completed by another replica',
  { timeout: 60_000 },
  async () => {
    const caller = await callerWithProduct();
    const healthy = await world.startBatches();
    await caller.push('batches', [batch('a'), batch('b', numbers('R1', 'V1')), batch('c', numbers('R1'))]);
    await caller.push('batches', [batch('a')], { autoCreateDDS: true });
    await healthy[Symbol.asyncDispose]();
    await using service = await startStoppingService('batches', 'before-drafts', world.environment);
    const items = [
      batch('a', numbers('R2')),
      batch('b', numbers(null)),
      batch('c', numbers('R2', 'V2')),
      batch('d', numbers('R2')),
      batch('e', { quantity: 1 }),
    ];
    caller.push('batches', items).catch(() => undefined);
    await service.reached();
    await service.kill();
    await using _survivor = await world.startBatches({ now: anHourAhead });
    await eventually(() => caller.runs(), isWhole, settledWithinMs);
    const listed = await listAllDds(caller);
    await expectAgreement(world, caller, listed);
    expect(listed.find(({ batchExternalId }) => batchExternalId === 'd')).toMatchObject({ hsCode: '4407' });
    expect(await caller.dds('limit=1')).toMatchObject({ total: 4 });
    const told = await toldOfStatements(caller, 4);
    expect(told.map(textOf).toSorted()).toEqual([
      'dds.created a DRAFT null null',
      'dds.created b REFERENCED R1 V1',
      'dds.created c REFERENCED R1 null',
      'dds.created d REFERENCED R2 null',
      'dds.updated a REFERENCED R2 null status,referenceNumber',
      'dds.updated b DRAFT null null status,referenceNumber,verificationNumber',
      'dds.updated c REFERENCED R2 V2 referenceNumber,verificationNumber',
    ]);
    expect((await caller.batched()).filter((id) => id.includes('drafted'))).toHaveLength(7);
  },
);

it(
  'the statement of a dead replica is announced as it was written, with an earlier time than that of a push that has overwritten it',
  { timeout: 60_000 },
  async () => {
    const caller = await callerWithProduct();
    await using service = await startStoppingService('batches', 'after-writes', world.environment);
    caller
      .push('batches', [batch('a', numbers('R1')), batch('b')], { autoCreateDDS: true })
      .catch(() => undefined);
    await service.reached();
    await service.kill();
    await using _survivor = await world.startBatches();
    await caller.push('batches', [batch('a', numbers('R2')), batch('b', numbers('R2'))]);
    await eventually(() => caller.runs(), isWhole, settledWithinMs);
    await expectAgreement(world, caller, await listAllDds(caller));
    // Receivers compare the timestamps of events, so the overwritten statement has the earlier one.
    const told = (await toldOfStatements(caller, 3)).toSorted((one, other) =>
      one.body.timestamp < other.body.timestamp ? -1 : 1,
    );
    expect([told.slice(0, 2), told.slice(2)].map((some) => some.map(textOf).toSorted())).toEqual([
      ['dds.created a REFERENCED R1 null', 'dds.created b DRAFT null null'],
      [
        'dds.updated a REFERENCED R2 null referenceNumber',
        'dds.updated b REFERENCED R2 null status,referenceNumber',
      ],
    ]);
  },
);

/** STATEMENT_KILLS=40 kills more often. */
const kills = Number(process.env['STATEMENT_KILLS'] ?? 8);

it(
  'kills at random moments leave no statement that differs from its batch',
  { timeout: 300_000 },
  async () => {
    const caller = await callerWithProduct();
    const patient = world.caller(caller.integration, 2_000);
    const ids = Array.from({ length: 30 }, (_, index) => `k${index}`);
    let killed = 0;
    const isOver = (): boolean => killed === kills;
    const push = async (worker: number): Promise<void> => {
      for (let turn = 0; !isOver(); turn += 1) {
        const items = ids.map((id, index) =>
          batch(
            id,
            (turn + index) % 4 === 0 ? numbers(null) : numbers(`R${worker}-${turn}-${index}`, `V${turn}`),
          ),
        );
        await patient.push('batches', items, { autoCreateDDS: turn % 5 === 0 }).catch(() => wait(50));
      }
    };
    const journal = world.store.collection<{ _id: string; integration: string }>('batches_journal');
    const begun = () => journal.countDocuments({ integration: caller.integration });
    const kill = async (): Promise<void> => {
      for (; !isOver(); killed += 1) {
        const before = await begun();
        await using service = await startStoppingService('batches', 'none', world.environment);
        // A replica that has begun no push yet leaves nothing behind.
        await eventually(begun, (count) => count > before);
        await wait(Math.random() * 300);
        await service.kill();
      }
    };
    await Promise.all([push(0), push(1), push(2), kill()]);
    await using _survivor = await world.startBatches({ now: anHourAhead });
    await using _other = await world.startBatches();
    const { entities } = await eventually(() => caller.runs('limit=100'), isWhole, settledWithinMs);
    const runs = (await caller.runs('limit=100')).total;
    expect(entities.length).toBeGreaterThan(1);
    const told = await toldOfStatements(caller, runs);
    const listed = await listAllDds(caller);
    await expectAgreement(world, caller, listed);
    expect(listed.length).toBe((await caller.dds('limit=1')).total);
    expectChain(told, listed);
    if (kills > 8)
      process.stderr.write(`${kills} kills, ${runs} pushes, ${told.length} events of statements\n`);
  },
);
