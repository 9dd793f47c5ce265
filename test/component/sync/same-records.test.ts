// Callers that push the same records at once: none starves, and no neighbour pays for it.
import { Failure } from '@integration-sync/contracts';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ending } from '../../support/ending.ts';
import { openWorld, pushPatiently, type Caller, type World } from '../../support/sync.ts';

let world: World;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
});
afterAll(() => world[Symbol.asyncDispose]());

const isBusy = (error: unknown): boolean => error instanceof Failure && error.code === 'unavailable';

const suppliers = (count: number, phone: string) =>
  Array.from({ length: count }, (_, index) => ({ externalId: `s${index}`, name: 'Same for all', phone }));

it('pushes of the same records are answered in the order in which they came to a replica', async () => {
  await using _catalog = await world.startCatalog();
  const caller = world.caller();
  const answered: number[] = [];
  const push = async (nth: number, count: number): Promise<void> => {
    try {
      await caller.push('suppliers', suppliers(count, `${nth}`));
      answered.push(nth);
    } catch (error) {
      // On a machine that is slow enough.
      if (nth === 0 || !isBusy(error)) throw error;
    }
  };
  // The first takes longest, and each of the others could pass it.
  await Promise.all([push(0, 100), ...[1, 2, 3, 4, 5, 6].map((nth) => push(nth, 7 - nth))]);
  expect(answered).toEqual(answered.toSorted((one, other) => one - other));
});

it(
  'a push waits only for pushes that share a record with it and whose callers are still connected',
  { timeout: 60_000 },
  async () => {
    const [released, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isFirst = true;
    await using _catalog = await world.startCatalog({
      async onStage(stage) {
        if (stage !== 'after-entry' || !isFirst) return;
        isFirst = false;
        reached.resolve();
        await released.promise;
      },
    });
    using _end = ending(released);
    const up = new AbortController();
    const hesitant = world.caller(undefined, 30_000, up.signal);
    const caller = world.caller(hesitant.integration);
    const given = hesitant.push('suppliers', suppliers(1, 'first')).catch((error: unknown) => error);
    await reached.promise;
    expect(await caller.push('suppliers', [{ externalId: 'other', name: 'N' }])).toMatchObject({
      created: 1,
    });
    up.abort(new Failure('timeout', 'given up'));
    expect(await given).toMatchObject({ code: 'timeout' });
    const { records } = await pushPatiently(() => caller.push('suppliers', suppliers(1, 'second')));
    expect(records).toMatchObject([{ status: 'CREATED' }]);
  },
);

/** Resolves with the codes of the failures other than that the service is busy. */
async function pushUntil(
  caller: Caller,
  { callers, records }: { callers: number; records: number },
  isOver: (answers: readonly number[]) => boolean,
): Promise<string[]> {
  const answers = Array.from({ length: callers }, () => 0);
  const codes = new Set<string>();
  await Promise.all(
    answers.map(async (_, nth) => {
      for (let round = 0; !isOver(answers); round += 1) {
        try {
          await caller.push('suppliers', suppliers(records, `${nth} ${round}`));
          answers[nth] = (answers[nth] ?? 0) + 1;
        } catch (error) {
          if (!isBusy(error)) codes.add(error instanceof Failure ? error.code : String(error));
        }
      }
    }),
  );
  return [...codes];
}

describe.each([1, 2])(
  'while the same records are pushed without pause to %i catalog replicas',
  (catalogs) => {
    it('by two callers, both callers get answers repeatedly', { timeout: 120_000 }, async () => {
      await using _first = await world.startCatalog();
      await using _second = catalogs === 2 ? await world.startCatalog() : undefined;
      const caller = world.caller();
      const records = 300;
      await caller.push('suppliers', suppliers(records, 'at first'));
      const codes = await pushUntil(caller, { callers: 2, records }, (answers) =>
        answers.every((count) => count >= 4),
      );
      expect(codes).toEqual([]);
    });

    it('by 24 callers, no push of another integration is refused', { timeout: 120_000 }, async () => {
      await using _first = await world.startCatalog();
      await using _second = catalogs === 2 ? await world.startCatalog() : undefined;
      const [caller, quiet] = [world.caller(), world.caller()];
      const records = 60;
      await caller.push('suppliers', suppliers(records, 'at first'));
      let isOver = false;
      const crowd = pushUntil(caller, { callers: 24, records }, () => isOver);
      try {
        for (let nth = 0; nth < 20; nth += 1) {
          const { created } = await quiet.push('suppliers', [{ externalId: `q${nth}`, name: 'N' }]);
          expect(created).toBe(1);
        }
      } finally {
        isOver = true;
      }
      expect(await crowd).toEqual([]);
    });
  },
);
