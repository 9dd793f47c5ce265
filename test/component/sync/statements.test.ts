// Due-diligence statements follow the two numbers of their batches, also in races of pushes. Where batches dies:
// statement-crashes.test.ts.
import { setTimeout as wait } from 'node:timers/promises';
import type { DdsEntry } from '@integration-sync/contracts';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import {
  batch,
  expectAgreement,
  expectChain,
  listAllDds,
  numbers,
  shownOf,
  textOf,
  toldOfStatements,
} from '../../support/statements.ts';
import { openWorld, pushPatiently, type Caller, type World } from '../../support/sync.ts';

let world: World;
let caller: Caller;

/** Callers that push the same batches concurrently, and how often each does. */
const pushers = 16;
const turnsOfPushers = Number(process.env['STATEMENT_TURNS'] ?? 2);

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await world.startCatalog();
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  caller = world.caller();
  await caller.push('products', [{ externalId: 'p', name: 'P', hsCode: '4407', country: 'SE' }]);
});

describe('with one replica of batches', () => {
  beforeAll(async () => {
    await world.startBatches();
  });

  it('a batch with a DDS reference number has a statement, which follows each change of the number', async () => {
    const { ddsCreated } = await caller.push('batches', [batch('a', numbers('R1', 'V1')), batch('b')]);
    // The answer lists what autoCreateDDS made.
    expect(ddsCreated).toEqual([]);
    const [made] = (await caller.dds()).entities;
    expect(made).toEqual({
      ddsId: expect.stringMatching(/^dds_/),
      batchExternalId: 'a',
      batchInternalId: expect.stringMatching(/^bat_/),
      status: 'REFERENCED',
      hsCode: '4407',
      countryOfProduction: 'SE',
      quantity: null,
      unit: null,
      referenceNumber: 'R1',
      verificationNumber: 'V1',
      missing: [],
    });
    const { nextSince = '' } = await caller.dds();
    await caller.push('batches', [batch('a', numbers('R1', 'V1')), batch('b')]);
    expect((await caller.dds(`since=${nextSince}`)).entities).toEqual([]);
    await caller.push('batches', [batch('a', { ddsReferenceNumber: 'R2' })]);
    const detailed = await caller.pushDetailed('batches', [batch('a', { ddsReferenceNumber: null })]);
    expect(detailed.details).toMatchObject([
      { changedFields: ['ddsReferenceNumber', 'ddsVerificationNumber'] },
    ]);
    await caller.push('batches', [batch('a', { quantity: 5 })], { autoCreateDDS: true });
    expect((await caller.dds(`since=${nextSince}`)).entities).toEqual([
      {
        ...made,
        status: 'DRAFT',
        quantity: 5,
        referenceNumber: null,
        verificationNumber: null,
        missing: ['unit', 'referenceNumber'],
      },
    ]);
    expect((await toldOfStatements(caller, 6)).map(textOf)).toEqual([
      'dds.created a REFERENCED R1 V1',
      'dds.updated a REFERENCED R2 V1 referenceNumber',
      'dds.updated a DRAFT null null status,referenceNumber,verificationNumber',
    ]);
  });

  it('a plan shows the effect of a push with DDS numbers, and details return these numbers', async () => {
    const planned = await caller.plan('batches', [batch('a', numbers('R1'))], { autoCreateDDS: true });
    expect(planned.ddsCreated).toMatchObject([{ status: 'REFERENCED', referenceNumber: 'R1', missing: [] }]);
    expect((await caller.dds()).entities).toEqual([]);
    const pushed = await caller.push('batches', [batch('a', numbers('R1', 'V'))], { autoCreateDDS: true });
    expect(pushed.ddsCreated).toMatchObject([{ status: 'REFERENCED', verificationNumber: 'V' }]);
    expect((await caller.list('batches', 'details=true')).entities).toMatchObject([
      { details: { fields: { ddsReferenceNumber: 'R1', ddsVerificationNumber: 'V' } } },
    ]);
    await caller.archive('batches', ['a']);
    expect((await caller.dds('status=REFERENCED')).entities).toEqual(pushed.ddsCreated);
  });

  it.each([
    [
      'a verification number alone',
      { ddsVerificationNumber: 'V' },
      'ddsVerificationNumber: expected none without a ddsReferenceNumber, got "V"',
    ],
    [
      'a verification number of a cleared one',
      numbers(null, 'V'),
      'ddsVerificationNumber: expected none without a ddsReferenceNumber, got "V"',
    ],
    [
      'a blank within',
      { ddsReferenceNumber: 'R 1' },
      'ddsReferenceNumber: expected a string of at most 50 characters without blanks, got "R 1"',
    ],
    ['a blank behind', { ddsReferenceNumber: 'R1\u00a0' }, 'without blanks'],
    ['51 characters', { ddsReferenceNumber: 'R'.repeat(51) }, '(51 characters)'],
    ['a number', { ddsReferenceNumber: 5 }, 'got 5'],
  ])('%s fails its item alone', async (_name, fields, error) => {
    const answer = await caller.push('batches', [
      batch('wrong', fields),
      batch('right', numbers('R'.repeat(50), 'V')),
    ]);
    expect(answer).toMatchObject({ success: false, created: 1 });
    expect(answer.errors).toEqual([{ externalId: 'wrong', error: expect.stringContaining(error) }]);
    expect((await listAllDds(caller)).map(({ batchExternalId }) => batchExternalId)).toEqual(['right']);
  });

  it('the listing of statements filters by status and batch, and its cursor keeps both filters', async () => {
    const ids = Array.from({ length: 7 }, (_, index) => `b${index}`);
    const items = ids.map((id, index) => batch(id, index % 2 === 0 ? numbers(`R${index}`) : {}));
    await caller.push('batches', items, { autoCreateDDS: true });
    const first = await caller.dds('status=REFERENCED&limit=3');
    expect(first).toMatchObject({ total: 4, page: 1 });
    expect(first.entities.map(({ batchExternalId }) => batchExternalId)).toEqual(['b0', 'b2', 'b4']);
    const second = await caller.dds(first.next);
    expect(second.entities.map(({ batchExternalId }) => batchExternalId)).toEqual(['b6']);
    expect(await caller.dds('status=DRAFT&page=2&limit=2')).toMatchObject({
      total: 3,
      entities: [{ batchExternalId: 'b5' }],
    });
    const two = await caller.dds('batchExternalId=b1&batchExternalId=b4&batchExternalId=none&limit=1');
    expect(two).toMatchObject({ total: 2, entities: [{ batchExternalId: 'b1' }] });
    expect(await caller.dds(two.next)).toMatchObject({ entities: [{ batchExternalId: 'b4' }] });
    expect(await caller.dds('batchExternalId=b1&status=REFERENCED')).toMatchObject({
      total: 0,
      entities: [],
    });
    await expect(caller.dds(`${first.next}&status=DRAFT`)).rejects.toMatchObject({
      errors: [{ pointer: 'status' }],
    });
  });

  it.each([
    ['status=draft', 'status'],
    ['status=DRAFT&status=DRAFT', 'status'],
    ['status=', 'status'],
    ['batchExternalId=', 'batchExternalId'],
    [Array.from({ length: 101 }, (_, index) => `batchExternalId=${index}`).join('&'), 'batchExternalId'],
  ])('the listing of statements refuses %.40s', async (query, pointer) => {
    await expect(caller.dds(query)).rejects.toMatchObject({ code: 'invalid_request', errors: [{ pointer }] });
  });
});

describe('with two replicas of batches', () => {
  beforeAll(async () => {
    await world.startBatches();
  });

  it(
    'sixteen callers push the same batches, and each statement agrees with its batch and is announced in order',
    { timeout: 60_000 + 5_000 * turnsOfPushers },
    async () => {
      const ids = Array.from({ length: 20 }, (_, index) => `r${index}`);
      let isOver = false;
      const polled: Promise<Map<string, DdsEntry>> = pollUntil(caller, () => isOver);
      const push = async (worker: number): Promise<void> => {
        for (let turn = 0; turn < turnsOfPushers; turn += 1) {
          const items = ids.map((id, index) =>
            batch(
              id,
              (turn + worker + index) % 3 === 0 ? numbers(null) : numbers(`R${worker}-${turn}`, `V${turn}`),
            ),
          );
          await pushPatiently(() =>
            caller.push('batches', items, { autoCreateDDS: (turn + worker) % 4 === 3 }),
          );
        }
      };
      await Promise.all(Array.from({ length: pushers }, (_, worker) => push(worker)));
      isOver = true;
      const listed = await listAllDds(caller);
      await expectAgreement(world, caller, listed);
      expect(listed).toHaveLength(ids.length);
      // Polls with status and since, beside the pushes, have seen the last state of each statement.
      const seen = await polled;
      expect([...seen.values()].map(shownOf).toSorted()).toEqual(
        listed
          .filter(({ status }) => status === 'REFERENCED')
          .map(shownOf)
          .toSorted(),
      );
      const told = await toldOfStatements(caller, 1 + pushers * turnsOfPushers);
      expectChain(told, listed);
    },
  );

  it('a batch gets one statement where one push asks for a draft and another push concurrently has the DDS number', async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `o${index}`);
    await caller.push(
      'batches',
      ids.map((id) => batch(id)),
    );
    await Promise.all([
      caller.push(
        'batches',
        ids.map((id) => batch(id)),
        { autoCreateDDS: true },
      ),
      caller.push(
        'batches',
        ids.map((id) => batch(id, numbers(`R-${id}`))),
      ),
    ]);
    const listed = await listAllDds(caller);
    expect(listed.map(shownOf)).toEqual(ids.map((id) => `${id} REFERENCED R-${id} null`));
    expectChain(await toldOfStatements(caller, 4), listed);
  });
});

/** Polls REFERENCED statements by X-Next-Since until `isOver`, and once more; the last state of each, if it is still REFERENCED. */
async function pollUntil(of: Caller, isOver: () => boolean): Promise<Map<string, DdsEntry>> {
  const seen = new Map<string, DdsEntry>();
  let since = '2020-01-01';
  for (let last = false; ;) {
    const ends = isOver();
    let { entities, next, nextSince = since } = await of.dds(`status=REFERENCED&limit=10&since=${since}`);
    for (;;) {
      for (const entry of entities) seen.set(entry.ddsId, entry);
      if (next === undefined) break;
      ({ entities, next } = await of.dds(next));
    }
    since = nextSince;
    if (last) break;
    last = ends;
    await wait(20);
  }
  const drafts = new Set((await listAllDds(of, '&status=DRAFT')).map(({ ddsId }) => ddsId));
  for (const id of drafts) seen.delete(id);
  return seen;
}
