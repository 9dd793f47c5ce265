// Which of the pushes goes first that two replicas carry out at once.
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { internalIdOf, newSyncId, packIds } from '../../../shared/sync/src/ids.ts';
import { openJournal, type Journal } from '../../../shared/sync/src/journal/journal.ts';
import { openPrecedence, type Precedence } from '../../../shared/sync/src/pushing/longest-waiting-first.ts';
import { openWatermarks, watermarkKey, type Watermarks } from '../../../shared/sync/src/watermarks.ts';
import { writingEntry } from '../../support/journal-entries.ts';
import { eventually } from '../../support/eventually.ts';
import { openWorld, type World } from '../../support/sync.ts';

let world: World;
let journal: Journal;
let watermarks: Watermarks;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  journal = openJournal(world.store, 'journal');
  watermarks = openWatermarks(world.store, 'heads', Date.now);
});
afterAll(() => world[Symbol.asyncDispose]());

/** A push that has begun, on a replica of its own. */
interface Begun extends Precedence {
  syncId: string;
  close(): Promise<void>;
}

/** Longer than any test. */
const patientMs = 60_000;
const integration = 'acme';
const key = watermarkKey(integration, 'suppliers');

async function begin(externalIds: readonly string[], waitedMs: number, forMs = patientMs): Promise<Begun> {
  const startedAt = new Date();
  const syncId = newSyncId(startedAt);
  const records = externalIds.map((id) => ({ internalId: internalIdOf('sup', integration, id) }));
  const ids = packIds(records.map(({ internalId }) => internalId));
  const [{ at, claims }] = await Promise.all([
    watermarks.open(key, syncId),
    journal.insert(writingEntry({ _id: syncId, integration, startedAt, ids })),
  ]);
  const of = { kind: { plural: 'suppliers', idPrefix: 'sup' } };
  const contender = { syncId, integration, of, records, waitedMs: () => waitedMs };
  return {
    syncId,
    ...openPrecedence({ journal, watermarks }, contender, { records: at, claims }, forMs),
    close: async () => void (await watermarks.close(key, syncId, 0)),
  };
}

const claimants = async (): Promise<string[]> => Object.keys((await watermarks.read(key)).claims ?? {});

const untilClaimed = ({ syncId }: Begun) => eventually(claimants, (all) => all.includes(syncId));

it('a push does not wait for a push that has no claims on records', async () => {
  const older = await begin(['a'], 5_000);
  const younger = await begin(['a'], 0);
  expect(await younger.yield()).toBe(false);
  expect(await claimants()).toEqual([]);
  await older.close();
  await younger.close();
});

it('a push waits for another push that has claims on its records and has waited longer', async () => {
  const older = await begin(['a', 'b'], 5_000);
  await older.claim();
  const younger = await begin(['b', 'c'], 0);
  const order: string[] = [];
  const yielding = younger.yield().then((waited) => order.push(`younger ${waited}`));
  await untilClaimed(younger);
  // Time enough for one that does not wait.
  for (let look = 0; look < 5; look += 1) await claimants();
  order.push('older');
  await older.close();
  await yielding;
  expect(order).toEqual(['older', 'younger true']);
  await younger.close();
  expect(await claimants()).toEqual([]);
});

it('the push that has waited longest waits for no other push, and a push of other records waits for none', async () => {
  const younger = await begin(['a', 'b'], 0);
  await younger.claim();
  const older = await begin(['b'], 5_000);
  const other = await begin(['z'], 0);
  expect(await older.yield()).toBe(false);
  expect(await other.yield()).toBe(false);
  expect((await claimants()).toSorted()).toEqual([older.syncId, younger.syncId].toSorted());
  await Promise.all([younger.close(), older.close(), other.close()]);
});

it('the claim that a push has on a record is removed once the push has failed or its process has died', async () => {
  const dead = await begin(['a'], 5_000);
  await dead.claim();
  const next = await begin(['a'], 0, 100);
  expect(await next.yield()).toBe(true);
  expect(await claimants()).toEqual([next.syncId]);
  next.abandon();
  await eventually(claimants, (all) => all.length === 0);
});

it('a completed push has no claims on records', async () => {
  const late = await begin(['a'], 0);
  await late.close();
  await late.claim();
  expect(await claimants()).toEqual([]);
});
