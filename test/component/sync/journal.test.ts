// The journal where two replicas meet in it: a push that is late with its entry, and the replica that takes
// it for dead.
import { randomUUID } from 'node:crypto';
import { openStore, type SentCommand } from '@integration-sync/runtime/store';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openWatermarks, watermarkKey } from '../../../shared/sync/src/watermarks.ts';
import { openOperating } from '../../../shared/sync/src/holdings.ts';
import { newSyncId } from '../../../shared/sync/src/ids.ts';
import { journalIndexes, openJournal, type Journal } from '../../../shared/sync/src/journal/journal.ts';
import type { Entry } from '../../../shared/sync/src/journal/journal-entry.ts';
import { closeForgotten } from '../../../shared/sync/src/recovery/sweeper.ts';
import { writingEntry } from '../../support/journal-entries.ts';
import { openTestLog } from '../../support/log.ts';
import { openWorld, type World } from '../../support/sync.ts';

let world: World;
let journal: Journal;

beforeAll(async () => {
  world = await openWorld(inject('engines').mongodb);
  await world.store.ensureIndexes('journal', journalIndexes);
  journal = openJournal(world.store, 'journal');
});
afterAll(() => world[Symbol.asyncDispose]());

const at = (sinceNowMs: number): Date => new Date(Date.now() + sinceNowMs);
const entry = (_id: string): Entry =>
  writingEntry({
    _id,
    integration: 'acme',
    owner: 'writer',
    due: at(15_000),
    failed: 1,
    startedAt: at(0),
    ids: new Uint8Array(16),
  });

describe('the tombstone of a push', () => {
  it('prevents a journal entry of this push, and of no other push', async () => {
    const [dead, alive] = [newSyncId(at(0)), newSyncId(at(0))];
    expect(await journal.bury(dead, at(0))).toBe(true);
    expect(await journal.insert(entry(dead))).toBe(false);
    expect(await journal.insert(entry(alive))).toBe(true);
    expect(await journal.bury(alive, at(0))).toBe(false);
    expect(await journal.pendingAmong([dead, alive])).toEqual(new Set([alive]));
  });

  it('is taken over by no replica, and expires', async () => {
    const dead = newSyncId(at(0));
    await journal.bury(dead, at(0));
    expect(await journal.leftBehind(at(60_000), 1_000)).not.toContainEqual(
      expect.objectContaining({ _id: dead }),
    );
    expect(await journal.unsettledAmong([dead])).toEqual(new Set());
    expect(await journal.pendingAmong([dead])).toEqual(new Set());
    expect(await journal.evidenceOf(dead)).toEqual({});
    await journal.keepEvidence(dead, new Map([['id', ['name']]]));
    await journal.markAnnounced([dead], at(0));
    await journal.finish({ ...entry(dead), owner: '' }, at(0));
    const stored = await world.store.collection<{ _id: string }>('journal').findOne({ _id: dead });
    expect(stored).toEqual({ _id: dead, expireAt: expect.any(Date) });
  });

  it('is replaced by the writer that comes back and completes its push', async () => {
    const syncId = newSyncId(at(0));
    await journal.bury(syncId, at(0));
    const due = at(0);
    const written = entry(syncId);
    const { owner: _owner, due: _due, ...known } = written;
    await journal.reopen({ ...written, evidence: { id: ['name'] } }, due);
    const claimed = await journal.takeOver({ _id: syncId, due }, 'another', due);
    expect(claimed).toEqual({
      ...known,
      ids: expect.anything(),
      owner: 'another',
      due: expect.any(Date),
      evidence: { id: ['name'] },
      reopened: true,
    });
  });
});

describe('half a minute later, the mark of an open push in a watermark', () => {
  const now = Date.now;
  const openedLongAgo = async (syncId: string) => {
    const key = watermarkKey(syncId, 'suppliers');
    await openWatermarks(world.store, 'heads', () => Date.now() - 60_000).open(key, syncId);
    const watermarks = openWatermarks(world.store, 'heads', now);
    return { watermarks, watermark: await watermarks.read(key) };
  };

  it('is closed if its push has no journal entry', async () => {
    const syncId = newSyncId(at(0));
    const { watermarks, watermark } = await openedLongAgo(syncId);
    await closeForgotten({ now, journal, watermarks });
    expect(await watermarks.read(watermark._id)).toMatchObject({ open: {} });
  });

  it('stays open when the journal entry comes at the last moment', async () => {
    const syncId = newSyncId(at(0));
    const { watermarks, watermark } = await openedLongAgo(syncId);
    const overtaken: Journal = {
      ...journal,
      async bury(...dead) {
        await journal.insert(entry(syncId));
        return journal.bury(...dead);
      },
    };
    await closeForgotten({ now, journal: overtaken, watermarks });
    expect((await watermarks.read(watermark._id)).open).toEqual(watermark.open);
  });

  it('is closed when the push is completed', async () => {
    const syncId = newSyncId(at(0));
    const { watermarks, watermark } = await openedLongAgo(syncId);
    const { due: _due, ...announced } = { ...entry(syncId), state: 'announced' as const };
    await journal.insert(announced);
    await closeForgotten({ now, journal, watermarks });
    expect(await watermarks.read(watermark._id)).toMatchObject({ open: {} });
  });
});

const error = (externalId: string) => ({ index: 0, externalId, error: 'email: expected an address' });
const notFound = (externalId: string): string => `Supplier with externalId "${externalId}" not found`;
const errorsOf = async (_id: string) =>
  (await world.store.collection<Entry>('journal').findOne({ _id }))?.errors?.map(
    ({ externalId }) => externalId,
  );
const ofSuppliers = { integration: 'acme', entityType: 'supplier' } as const;

describe('the errors of failed items in the journal', () => {
  it('are removed also from an entry that the history does not show', async () => {
    const syncId = newSyncId(at(0));
    await journal.insert({ ...entry(syncId), errors: [error('a'), error('b')] });
    await journal.hide(entry(syncId), at(0));
    await journal.forgetErrors(ofSuppliers, ['a', 'c']);
    expect(await errorsOf(syncId)).toEqual(['b']);
  });

  it('are not stored again by a slow writer', async () => {
    const syncId = newSyncId(at(0));
    const written = { ...entry(syncId), errors: [error('a'), error('b')] };
    await journal.insert(written);
    await journal.forgetErrors(ofSuppliers, ['a']);
    await journal.reopen(written, at(0));
    expect(await errorsOf(syncId)).toEqual(['b']);
  });

  it('are not stored again by a writer whose entry was removed', async () => {
    const syncId = newSyncId(at(0));
    await journal.reopen({ ...entry(syncId), errors: [error('a')] }, at(0));
    expect(await found(syncId)).toMatchObject({ reopened: true, failed: 1 });
    expect(await errorsOf(syncId)).toBeUndefined();
  });

  it('are removed from hundreds of entries by few commands, none of which goes on with a cursor', async () => {
    const sent: string[] = [];
    const { MONGODB_URL: url = '' } = world.environment;
    const { databaseName: database } = world.store.database;
    const onCommand = ({ name }: SentCommand): void => void sent.push(name);
    await using store = await openStore({ url, database, log: openTestLog().log, onCommand });
    const { integration } = world.caller();
    const errors = ['a', 'b'].map((id, index) => ({ index, externalId: 'P', error: notFound(id) }));
    const ids = Array.from({ length: 350 }, () => newSyncId(at(0)));
    const stored = ids.map((syncId) => ({ ...entry(syncId), integration, errors }));
    await world.store.collection<Entry>('journal').insertMany(stored);
    await openJournal(store, 'journal').forgetErrorsWith(integration, [notFound('a')]);
    const left = await world.store.collection<Entry>('journal').find({ integration }).toArray();
    expect(left.map(({ errors: kept }) => kept?.map(({ index }) => index))).toEqual(ids.map(() => [1]));
    expect(sent).not.toContain('getMore');
    expect(sent.filter((name) => name === 'update')).toHaveLength(4);
  });

  it('stay for other integrations and other kinds', async () => {
    const [syncId, other] = [newSyncId(at(0)), newSyncId(at(0))];
    await journal.insert({ ...entry(syncId), errors: [error('a')], entityType: 'product' });
    await journal.insert({ ...entry(other), errors: [error('a')], integration: 'other' });
    await journal.forgetErrors(ofSuppliers, ['a']);
    expect([await errorsOf(syncId), await errorsOf(other)]).toEqual([['a'], ['a']]);
  });
});

const found = async (_id: string): Promise<Entry> => {
  const one = await world.store.collection<Entry>('journal').findOne({ _id });
  return one ?? entry('none');
};

/** When it is due, from the moment at which settling failed. */
const dueInMs = async (_id: string, ageMs: number): Promise<number> => {
  const now = at(0);
  await journal.insert({ ...entry(_id), startedAt: at(-ageMs), due: at(-1) });
  const claimed = await journal.takeOver({ _id, due: (await found(_id)).due ?? now }, 'sweeper', now);
  await journal.postpone(claimed ?? entry(_id), now);
  return ((await found(_id)).due?.getTime() ?? Infinity) - now.getTime();
};

describe('an entry whose recovery failed', () => {
  it('is tried again after a second, and an older entry after a longer time', async () => {
    expect(await dueInMs(newSyncId(at(0)), 15_000)).toBe(1_000);
    expect(await dueInMs(newSyncId(at(0)), 60_000)).toBeGreaterThan(3_000);
    expect(await dueInMs(newSyncId(at(0)), 60_000)).toBeLessThan(4_000);
    expect(await dueInMs(newSyncId(at(0)), 3_600_000)).toBe(15_000);
  });

  it('stays unchanged where another replica has taken it over or completed it', async () => {
    const [taken, done] = [newSyncId(at(0)), newSyncId(at(0))];
    for (const _id of [taken, done]) await journal.insert({ ...entry(_id), state: 'written' });
    await journal.markAnnounced([done], at(0));
    const before = await found(taken);
    for (const [_id, owner] of [
      [taken, 'another'],
      [done, 'writer'],
    ] as const)
      await journal.postpone({ ...entry(_id), owner }, at(0));
    expect(await found(taken)).toEqual(before);
    expect(await found(done)).not.toHaveProperty('due');
  });
});

describe('an entry that its process could not announce', () => {
  it('is due immediately, unless another replica owns or completed it', async () => {
    const [mine, taken, done] = [newSyncId(at(0)), newSyncId(at(0)), newSyncId(at(0))];
    const [now, later] = [at(0), at(15_000)];
    for (const _id of [mine, done]) await journal.insert({ ...entry(_id), state: 'written', due: later });
    await journal.insert({ ...entry(taken), owner: 'another', state: 'written', due: later });
    await journal.markAnnounced([done], now);
    await journal.leave([mine, taken, done], 'writer', now);
    expect((await found(mine)).due).toEqual(now);
    expect((await found(taken)).due).toEqual(later);
    expect(await found(done)).not.toHaveProperty('due');
  });
});

describe('an integration that an operator wants to remove', () => {
  // A survivor has found no write of a dead process's push, and hides the push. Its writes may still arrive.
  it('counts as pushing until the push of a dead process is completed, though the history hides that push', async () => {
    await world.store.ensureIndexes('removal_journal', journalIndexes);
    const left = openJournal(world.store, 'removal_journal');
    const removal = openOperating('removal', []);
    const [before, lost] = [newSyncId(at(-600_000)), newSyncId(at(-20_000))];
    const { due: _due, ...quiet } = {
      ...entry(before),
      state: 'announced' as const,
      startedAt: at(-600_000),
    };
    const due = at(-5_000);
    await left.insert(quiet);
    await left.insert({ ...entry(lost), startedAt: at(-20_000), due });
    const claimed = await left.takeOver({ _id: lost, due }, 'survivor', at(0));
    if (claimed === undefined) throw new Error('the entry was not claimed');
    await left.hide(claimed, at(0));

    expect(await removal.stillPushing(world.store, 'bystander', at(0))).toBeUndefined();
    const pushing = await removal.stillPushing(world.store, 'acme', at(0));
    expect(pushing?.syncId).toBe(lost);
    expect(pushing?.quietAt.getTime()).toBeGreaterThan(at(120_000).getTime());
    await left.finish({ ...claimed, hiddenFrom: 'acme' }, at(0));
    expect(await removal.stillPushing(world.store, 'acme', at(0))).toBeUndefined();
  });

  it('counts as pushing while its only push is hidden from the history', async () => {
    const service = randomUUID();
    await world.store.ensureIndexes(`${service}_journal`, journalIndexes);
    const left = openJournal(world.store, `${service}_journal`);
    const syncId = newSyncId(at(0));
    await left.insert(entry(syncId));
    await left.hide(entry(syncId), at(0));
    expect(await openOperating(service, []).stillPushing(world.store, 'acme', at(0))).toMatchObject({
      syncId,
    });
  });
});
