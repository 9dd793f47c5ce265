// Answers GET and PUT /expectations.
import {
  expectedKindNames,
  expectedKinds,
  isStrict,
  queryErrorsOf,
  type Expectations,
  type ShownExpectation,
} from '@integration-sync/contracts';
import { refuseGivenUp, type BusHandler, type BusReply } from '@integration-sync/runtime/bus';
import type { Clock } from '@integration-sync/sync';
import { readBody } from './expectations-body.ts';
import { dueAtOf, nextCheckAt, see } from './due.ts';
import { readFrom, type ReadPushes } from './read-pushes.ts';
import type { Expectation, ExpectationStore } from './expectation-store.ts';

export interface HandlersOptions {
  expectations: Pick<ExpectationStore, 'of' | 'set' | 'end'>;
  read: ReadPushes;
  now: Clock;
}

export const getExpectations =
  (options: HandlersOptions): BusHandler =>
  async ({ integration }) =>
    answer(options, integration);

export const setExpectations =
  (options: HandlersOptions): BusHandler =>
  async (request) => {
    const { expectations, now } = options;
    const { integration } = request;
    const hours = readBody(request.body, { ofQuery: queryErrorsOf(request), strict: isStrict(request) });
    const before = await expectations.of(integration);
    await refuseGivenUp(request);
    for (const [kind, everyHours] of hours) {
      const expected = { integration, entityType: expectedKinds[kind] };
      const found = before.find(({ entityType }) => entityType === expected.entityType);
      if (everyHours === null) await expectations.end(expected);
      // Hours that equal the stored hours do not change the due time, because a job may set the hours before each load.
      else if (found?.everyHours !== everyHours) {
        const at = new Date(now());
        const checkAt = nextCheckAt({ everyHours, setAt: at, pushedAt: null }, at);
        await expectations.set(expected, { everyHours, at, checkAt, readTo: readFrom(at) });
      }
    }
    return answer(options, integration);
  };

async function answer({ expectations, read, now }: HandlersOptions, integration: string): Promise<BusReply> {
  const found = await expectations.of(integration);
  const shown: Expectations = { suppliers: null, products: null, batches: null };
  await Promise.all(
    expectedKindNames.map(async (kind) => {
      const one = found.find(({ entityType }) => entityType === expectedKinds[kind]);
      if (one !== undefined) shown[kind] = await show(one, read, new Date(now()));
    }),
  );
  return { body: JSON.stringify(shown), logFields: { entities: found.length } };
}

async function show(one: Expectation, read: ReadPushes, at: Date): Promise<ShownExpectation> {
  const { pushedAt } = see(one, await read(one, null), at);
  const dueAt = dueAtOf({ ...one, pushedAt });
  return {
    everyHours: one.everyHours,
    lastPushAt: pushedAt?.toISOString() ?? null,
    dueAt: dueAt.toISOString(),
    isOverdue: dueAt <= at,
  };
}
