// What the pages of a walk ask the database, and what they say beside pushes: each entity, and a `total` that holds.
import type { DdsEntry } from '@integration-sync/contracts';
import type { SentCommand } from '@integration-sync/runtime/store';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openCursor, sealCursor } from '../../../shared/sync/src/listing/cursor.ts';
import type { Entry } from '../../../shared/sync/src/journal/journal-entry.ts';
import { openJournalQuestions } from '../../../shared/sync/src/journal/journal-questions.ts';
import { openFindPage, type PageQuery } from '../../../shared/sync/src/listing/find-page.ts';
import type { ListedDocument } from '../../../shared/sync/src/listing/listing-filters.ts';
import { newSyncId } from '../../../shared/sync/src/ids.ts';
import { sharedKey } from '../../../shared/sync/src/shared-key.ts';
import { openWatermarks, watermarkKey } from '../../../shared/sync/src/watermarks.ts';
import { eventually } from '../../support/eventually.ts';
import { openWorld, type Caller, type Listed, type World } from '../../support/sync.ts';

/** One replica, so that a test knows what the replica has seen, and two, which a caller's requests reach by chance. */
let alone: World;
/** A second replica on the database of the first, with a bus of its own. */
let other: World;
let several: World;
const sent: SentCommand[] = [];

const onCommand = (command: SentCommand): void => void sent.push(command);

beforeAll(async () => {
  [alone, other, several] = await Promise.all([
    openWorld(inject('engines').mongodb),
    openWorld(inject('engines').mongodb),
    openWorld(inject('engines').mongodb),
  ]);
  await Promise.all([
    alone.startCatalog({ onCommand }),
    alone.startBatches({ onCommand }),
    other.startCatalog({}, { MONGODB_DATABASE: alone.environment['MONGODB_DATABASE'] ?? '' }),
    several.startCatalog(),
    several.startCatalog(),
  ]);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await alone[Symbol.asyncDispose]();
  await several[Symbol.asyncDispose]();
});

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const supplier = (externalId: string, name = 'N') => ({ externalId, name });
const idsOf = ({ entities }: { entities: readonly { externalId: string }[] }): string[] =>
  entities.map(({ externalId }) => externalId);

async function pushMany(caller: Caller, from: number, to: number, name = 'N'): Promise<void> {
  for (let begin = from; begin < to; begin += 500)
    await caller.push(
      'suppliers',
      range(Math.min(500, to - begin)).map((nth) => supplier(`s${begin + nth}`, name)),
    );
}

/** What `ask` resolves with, and the commands that the listed collections get meanwhile: names, `skip` and index of each. */
async function watch<Answer>(ask: () => Promise<Answer>, ...collections: string[]) {
  sent.length = 0;
  const answer = await ask();
  const commands = sent
    .filter(({ name, command }) => ['suppliers', ...collections].includes(command[name]))
    .map(({ name, command: { skip, hint } }) =>
      name === 'find' ? [name, ...(skip ? [`skip ${skip}`] : []), hint].join(' ') : name,
    );
  return { answer, commands };
}

const commandsOf = async (ask: () => Promise<unknown>): Promise<string[]> => (await watch(ask)).commands;

const inOrder = 'find creation-order';
const byTime = 'find last-synced';
const byStatus = 'find status-order';
const count = 'aggregate';

/** A listing of which `later` of `all` records have come after the returned `since`. */
async function listingOf(all: number, later: number): Promise<{ caller: Caller; since: string }> {
  const caller = alone.caller();
  await pushMany(caller, 0, all - later);
  const { nextSince = '' } = await caller.list('suppliers');
  await pushMany(caller, all - later, all);
  return { caller, since: `since=${encodeURIComponent(nextSince)}` };
}

describe('a walk by cursor', () => {
  it.each([
    ['since', []],
    // Whether records of an earlier release have a time of change.
    ['changedSince', ['find last-changed']],
  ])('with the parameter %s counts and sorts its matches once', async (name, besides) => {
    const { caller, since } = await listingOf(60, 30);
    const query = since.replace('since', name);
    // The index of changes is made for the first listing that asks for changes.
    await eventually(
      () => commandsOf(() => caller.list('suppliers', query)),
      (commands) => name === 'since' || commands.includes('find last-changed'),
    );
    await pushMany(caller, 30, 60, 'M');
    const pages: string[][] = [];
    const seen: string[] = [];
    for (let next: string | undefined = `limit=7&${query}`; next !== undefined;) {
      const asked: string = next;
      const { answer, commands } = await watch(() => caller.list('suppliers', asked));
      expect(answer.total).toBe(30);
      seen.push(...idsOf(answer));
      pages.push(commands);
      next = answer.next;
    }
    expect(seen).toEqual(range(30).map((nth) => `s${30 + nth}`));
    const [first = [], ...others] = pages;
    expect(first.filter((command) => command === count)).toEqual([count]);
    expect(others).toHaveLength(4);
    for (const commands of others) expect(commands.filter((command) => command !== inOrder)).toEqual(besides);
  });

  it('by status counts its matches once, and finds each page by the index of statuses alone', async () => {
    const caller = alone.caller();
    await caller.push('products', [{ externalId: 'p', name: 'P' }]);
    const lots = range(60).map((nth) => ({
      externalId: `b${nth}`,
      productExternalId: 'p',
      batchNumber: 'B',
      ddsReferenceNumber: nth % 2 === 0 ? `R${nth}` : null,
    }));
    await caller.push('batches', lots, { autoCreateDDS: true });
    const pages: string[][] = [];
    for (let next: string | undefined = 'status=DRAFT&limit=7'; next !== undefined;) {
      const asked: string = next;
      const { answer, commands } = await watch(() => caller.dds(asked), 'dds');
      expect(answer.total).toBe(30);
      pages.push(commands);
      next = answer.next;
    }
    expect(pages).toEqual([[count, byStatus], ...range(4).map(() => [byStatus])]);
    const { commands } = await watch(() => caller.dds('status=DRAFT&limit=7&page=3'), 'dds');
    expect(commands.filter((command) => command !== count)).toEqual([`find skip 14 status-order`]);
  });

  it('by status and since lists statements that were created before since and changed later, beside as many newer statements', async () => {
    const caller = alone.caller();
    await caller.push('products', [{ externalId: 'p', name: 'P' }]);
    const push = async (from: number, to: number, ddsReferenceNumber?: string): Promise<void> => {
      for (let at = from; at < to; at += 300) {
        const lots = range(300).map((nth) => ({
          externalId: `b${at + nth}`,
          productExternalId: 'p',
          batchNumber: 'B',
          ddsReferenceNumber,
        }));
        await caller.push('batches', lots, { autoCreateDDS: true });
      }
    };
    await push(0, 600);
    const { nextSince = '' } = await caller.dds();
    await push(0, 600, 'R');
    await push(600, 1_200);
    const { total, entities } = await caller.dds(`status=REFERENCED&since=${nextSince}&limit=10`);
    const ids = entities.map(({ batchExternalId }) => batchExternalId);
    expect([total, ids]).toEqual([600, range(10).map((nth) => `b${nth}`)]);
  });

  it('by status has each statement, although the caller gives reference numbers to the statements of a page before it reads the next page', async () => {
    const caller = alone.caller();
    await caller.push('products', [{ externalId: 'p', name: 'P' }]);
    const push = (ids: readonly string[], ddsReferenceNumber?: string) =>
      caller.push(
        'batches',
        ids.map((externalId) => ({
          externalId,
          productExternalId: 'p',
          batchNumber: 'B',
          ddsReferenceNumber,
        })),
        { autoCreateDDS: true },
      );
    const all = range(12).map((nth) => `b${nth}`);
    await push(all);
    const seen: string[] = [];
    for (let next: string | undefined = 'status=DRAFT&limit=5'; next !== undefined;) {
      const page: Listed<DdsEntry> = await caller.dds(next);
      const ids = page.entities.map(({ batchExternalId }) => batchExternalId);
      seen.push(...ids);
      await push(ids, 'R');
      next = page.next;
    }
    expect(seen).toEqual(all);
  });

  it('with since reads no record that was created before since, where no such record matches', async () => {
    const { caller, since } = await listingOf(2_500, 1_500);
    const { answer } = await watch(() => caller.list('suppliers', `limit=10&${since}`));
    expect([answer.total, ...idsOf(answer)]).toEqual([1_500, ...range(10).map((nth) => `s${1_000 + nth}`)]);
    const finds = sent.filter(({ name, command }) => name === 'find' && command['find'] === 'suppliers');
    const counts = sent.filter(({ command: { aggregate } }) => aggregate === 'suppliers');
    // The matches, while the records that were created since are added up from the runs.
    expect(counts).toHaveLength(1);
    expect(finds.map(({ command: { filter, hint } }) => ({ filter, hint }))).toMatchObject([
      { filter: { order: { $gt: expect.stringMatching(/^sync_/) } }, hint: 'creation-order' },
    ]);
    await caller.archive('suppliers', ['s7']);
    const later = await caller.list('suppliers', `limit=10&${since}`);
    expect([later.total, idsOf(later)[0]]).toEqual([1_501, 's7']);
  });

  it('of whole records reads each page by queries that send no getMore', async () => {
    const { caller } = await listingOf(120, 0);
    for (let next: string | undefined = 'details=true&limit=100', from = 0; next !== undefined; from += 100) {
      const asked: string = next;
      const { answer } = await watch(() => caller.list('suppliers', asked));
      const names = sent.filter(
        ({ command: { find, getMore } }) => find === 'suppliers' || getMore !== undefined,
      );
      expect(names.map(({ name, command: { limit } }) => [name, limit])).toEqual(
        (from === 0 ? [26, 52, 23] : [26]).map((limit) => ['find', limit]),
      );
      expect(idsOf(answer)).toEqual(range(Math.min(100, 120 - from)).map((nth) => `s${from + nth}`));
      next = answer.next;
    }
  });

  it.each([
    ['records are counted', undefined, 3],
    ['runs are added up', openJournalQuestions, 2],
  ])('with since has the first match although a record is created while %s', async (_, question, wanted) => {
    const { caller, since } = await listingOf(2_500, 1_500);
    await caller.archive('suppliers', ['s7']);
    const documents = alone.store.collection<ListedDocument>('suppliers');
    let counts = 0;
    const createsAfterFirstCount = new Proxy(documents, {
      get(target, name) {
        if (name !== 'countDocuments') return Reflect.get(target, name).bind(target);
        return async (...asked: Parameters<typeof documents.countDocuments>) => {
          const counted = await documents.countDocuments(...asked);
          if ((counts += 1) === 1) await pushMany(caller, 2_500, 2_501);
          return counted;
        };
      },
    });
    const watermarks = openWatermarks(alone.store, 'catalog_heads', Date.now);
    const readAgain = () => watermarks.read(watermarkKey(caller.integration, 'suppliers'));
    const watermark = await readAgain();
    const from = new Date(decodeURIComponent(since.replace('since=', '')));
    const kind = { integration: caller.integration, entityType: 'supplier' } as const;
    const { found } = await openFindPage(createsAfterFirstCount)({
      integration: caller.integration,
      asked: { page: 1, limit: 10, since: from, nextSince: from } as PageQuery['asked'],
      watermark,
      readAgain,
      narrowing: {},
      projection: { order: 1, externalId: 1 },
      time: 'synced',
      now: Date.now(),
      createdAfter:
        question &&
        ((syncId) => question(alone.store.collection('catalog_journal')).createdAfter(syncId, kind)),
    });
    expect(counts).toBe(wanted);
    const [first] = await Array.fromAsync(found);
    expect(first).toMatchObject({ externalId: 's7' });
  });

  it('adds up the records that all pushes of one kind after a sync id created, unless there are too many pushes', async () => {
    const caller = alone.caller();
    const journal = alone.store.collection<Entry>('catalog_journal');
    const created = async (after: string): Promise<number | undefined> =>
      openJournalQuestions(journal).createdAfter(after, {
        integration: caller.integration,
        entityType: 'supplier',
      });
    const { syncId } = await caller.push('suppliers', [supplier('s0')]);
    await caller.push('suppliers', [supplier('s0', 'M'), supplier('s1')]);
    await caller.push('products', [{ externalId: 'p', name: 'P' }]);
    expect([await created(''), await created(syncId)]).toEqual([2, 1]);
    const entry = await journal.findOne({ _id: syncId });
    if (entry === null) throw new Error('the push has no entry');
    await journal.insertMany(
      range(1_500).map((nth) => Object.assign({}, entry, { _id: `${syncId}-${nth}` })),
    );
    expect(await created('')).toBeUndefined();
  });

  it('shows its matches during pushes without another count or sort', async () => {
    const { caller, since } = await listingOf(60, 30);
    const first = await caller.list('suppliers', `limit=20&${since}`);
    await pushMany(caller, 0, 10);
    await pushMany(caller, 60, 70);
    const commands = await commandsOf(async () => {
      const last = await caller.list('suppliers', first.next);
      expect([idsOf(last), last.total, last.next]).toEqual([
        range(10).map((nth) => `s${50 + nth}`),
        30,
        undefined,
      ]);
    });
    expect(commands).toEqual([inOrder]);
  });

  it('goes on with matching records after other records stopped matching the filter', async () => {
    const caller = alone.caller();
    await pushMany(caller, 0, 400);
    const { nextSince = '' } = await caller.list('suppliers');
    const first = await caller.list('suppliers', `limit=10&until=${encodeURIComponent(nextSince)}`);
    expect([first.total, idsOf(first).at(-1)]).toEqual([400, 's9']);
    await pushMany(caller, 12, 395);
    const second = await caller.list('suppliers', first.next);
    expect([idsOf(second), second.next]).toEqual([
      ['s10', 's11', ...range(5).map((nth) => `s${395 + nth}`)],
      undefined,
    ]);
    expect(second.total).toBe(400);
  });

  it('shows records that were pushed before the walk began, whatever another replica cached of an earlier walk', async () => {
    const { caller, since } = await listingOf(60, 30);
    // Beside a push under way, both walks have the same X-Next-Since.
    const watermarks = openWatermarks(alone.store, 'catalog_heads', Date.now);
    await watermarks.open(watermarkKey(caller.integration, 'suppliers'), newSyncId(new Date()));
    const onOtherReplica = other.caller(caller.integration);
    const abandoned = await onOtherReplica.list('suppliers', `limit=10&${since}`);
    await pushMany(caller, 0, 30, 'M');
    const first = await caller.list('suppliers', `limit=10&${since}`);
    expect(first.nextSince).toBe(abandoned.nextSince);
    const seen = idsOf(first);
    for (let { next } = first; next !== undefined;) {
      const page = await onOtherReplica.list('suppliers', next);
      seen.push(...idsOf(page));
      next = page.next;
    }
    expect(seen).toEqual(range(60).map((nth) => `s${nth}`));
  });

  it('with a cursor of release 1.1.0, which has no total, is counted once more', async () => {
    const { caller, since } = await listingOf(40, 30);
    const first = await caller.list('suppliers', `limit=10&${since}`);
    const key = await sharedKey(alone.store, 'catalog_keys', 'cursor');
    const listing = `${caller.integration}/suppliers`;
    const cursor = openCursor(key, listing, first.next?.replace('cursor=', '') ?? '');
    if (cursor === undefined) throw new Error('the cursor did not open');
    expect([cursor.total, cursor.shown]).toEqual([30, 10]);
    const former = sealCursor(key, listing, { ...cursor, total: undefined });
    const second = await caller.list('suppliers', `cursor=${former}`);
    expect([idsOf(second)[0], second.total]).toEqual(['s20', 30]);
    const commands = await commandsOf(() => caller.list('suppliers', second.next));
    expect(commands).not.toContain(count);
  });
});

it('a walk through the history counts pushes once', async () => {
  const caller = alone.caller();
  const pushed: string[] = [];
  for (const nth of range(5)) pushed.unshift((await caller.push('suppliers', [supplier(`s${nth}`)])).syncId);
  const first = await caller.runs('limit=2');
  await caller.push('suppliers', [supplier('late')]);
  const seen = first.entities.map(({ syncId }) => syncId);
  for (let next = first.next; next !== undefined;) {
    const asked: string = next;
    const { answer, commands } = await watch(() => caller.runs(asked), 'catalog_journal', 'batches_journal');
    expect(answer.total).toBe(5);
    // The journal may note the end of the last push only now.
    expect(commands.filter((command) => command !== 'update')).toEqual(['find history', 'find history']);
    seen.push(...answer.entities.map(({ syncId }) => syncId));
    next = answer.next;
  }
  expect(seen).toEqual(pushed);
});

describe('numbered pages', () => {
  it('that are read in sequence send no skip to MongoDB, and a jump to a page sends skip', async () => {
    const { caller } = await listingOf(60, 0);
    expect(await commandsOf(() => caller.list('suppliers', 'limit=10&page=4'))).toEqual([
      'find skip 30 creation-order',
    ]);
    for (const page of [5, 6])
      expect(
        await commandsOf(async () => {
          const listed = await caller.list('suppliers', `limit=10&page=${page}`);
          expect(idsOf(listed)).toEqual(range(10).map((nth) => `s${(page - 1) * 10 + nth}`));
        }),
      ).toEqual([inOrder]);
    // The end of a page is that of its own limit.
    expect(await commandsOf(() => caller.list('suppliers', 'limit=9&page=5'))).toEqual([
      'find skip 36 creation-order',
    ]);
  });

  it('past the end send no query', async () => {
    const { caller } = await listingOf(20, 0);
    expect(await commandsOf(() => caller.list('suppliers', 'limit=10&page=3'))).toEqual([]);
  });

  it('with since are counted and sorted once, and again after a push', async () => {
    const { caller, since } = await listingOf(60, 30);
    await caller.list('suppliers', `limit=10&${since}`);
    for (const page of [2, 3, 1])
      expect(
        await commandsOf(async () => {
          const listed = await caller.list('suppliers', `limit=10&page=${page}&${since}`);
          expect([listed.total, idsOf(listed)[0]]).toEqual([30, `s${20 + page * 10}`]);
        }),
      ).toEqual([inOrder]);
    await pushMany(caller, 0, 1);
    expect(
      await commandsOf(async () => {
        const listed = await caller.list('suppliers', `limit=10&page=2&${since}`);
        expect([listed.total, idsOf(listed)[0]]).toEqual([31, 's39']);
      }),
    ).toEqual([count, byTime, inOrder]);
  });

  it('with since and many matches begin at the end of the page before, unless records were pushed meanwhile', async () => {
    const { caller, since } = await listingOf(9_000, 8_500);
    await caller.list('suppliers', `limit=10&${since}`);
    const second = () => caller.list('suppliers', `limit=10&page=2&${since}`);
    expect(await commandsOf(second)).toEqual([inOrder]);
    await caller.archive('suppliers', ['s0']);
    let listed = await second();
    expect([listed.total, idsOf(listed)[0]]).toEqual([8_501, 's509']);
    listed = await second();
    expect([listed.total, idsOf(listed)[0]]).toEqual([8_501, 's509']);
  });
});

const ids = range(12).map((nth) => `s${nth}`);
const someIds = fc.uniqueArray(fc.constantFrom(...ids), { minLength: 1, maxLength: 4 });
const steps = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({
        does: fc.constant('push' as const),
        ids: someIds,
        name: fc.constantFrom('N', 'M'),
      }),
    },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('archive' as const), ids: someIds }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('erase' as const), ids: someIds }) },
    { weight: 4, arbitrary: fc.record({ does: fc.constant('number' as const) }) },
    { weight: 4, arbitrary: fc.record({ does: fc.constant('follow' as const) }) },
  ),
  { minLength: 6, maxLength: 20 },
);

type Steps = typeof steps extends fc.Arbitrary<infer All> ? All : never;
interface Spoken {
  externalId: string;
  internalId: string;
}

/** What a caller knows of its own records: in the order of creation, and which a request has spoken of since. */
class Known {
  readonly #internalIds = new Map<string, string>();
  readonly #spokenOf = new Set<string>();

  created(records: readonly Spoken[]): void {
    for (const { externalId, internalId } of records) this.#internalIds.set(externalId, internalId);
  }

  spokenOf(externalIds: readonly string[]): void {
    for (const id of externalIds) if (this.#internalIds.has(id)) this.#spokenOf.add(id);
  }

  /** The internal ids of the matches; an erased record has no other. */
  matches(): string[] {
    return this.#internalIds
      .entries()
      .flatMap(([id, internalId]) => (this.#spokenOf.has(id) ? [internalId] : []))
      .toArray();
  }
}

const internalIdsOf = ({ entities }: { entities: readonly { internalId: string }[] }): string[] =>
  entities.map(({ internalId }) => internalId);

/** Reads a walk by numbered pages and one by cursors beside pushes, archivings and erasings, and checks each page. */
async function readBeside(sequence: Steps, limit: number): Promise<void> {
  const caller = several.caller();
  const known = new Known();
  const begun = ids.slice(0, 5).map((id) => supplier(id));
  known.created((await caller.push('suppliers', begun)).records);
  const { nextSince = '' } = await caller.list('suppliers');
  const since = `limit=${limit}&since=${encodeURIComponent(nextSince)}`;
  let page = 0;
  let walk: { next: string; begun: string[]; seen: string[] } | undefined;

  const readNumbered = async (): Promise<void> => {
    page += 1;
    const listed = await caller.list('suppliers', `${since}&page=${page}`);
    const matches = known.matches();
    expect(internalIdsOf(listed)).toEqual(matches.slice((page - 1) * limit, page * limit));
    expect(listed.total).toBe(matches.length);
    if (listed.next === undefined) page = 0;
  };
  const follow = async (): Promise<void> => {
    walk ??= { next: since, begun: known.matches(), seen: [] };
    const listed = await caller.list('suppliers', walk.next);
    walk.seen.push(...internalIdsOf(listed));
    expect(listed.total).toBe(Math.max(walk.begun.length, walk.seen.length));
    expect(new Set(walk.seen).size).toBe(walk.seen.length);
    if (listed.next !== undefined) {
      walk.next = listed.next;
      return;
    }
    expect(new Set(walk.begun).difference(new Set(walk.seen))).toEqual(new Set());
    walk = undefined;
  };

  for (const step of sequence) {
    if (step.does === 'number') await readNumbered();
    else if (step.does === 'follow') await follow();
    else {
      if (step.does === 'archive') await caller.archive('suppliers', step.ids);
      else if (step.does === 'erase') await caller.erase(step.ids);
      else {
        const items = step.ids.map((id) => supplier(id, step.name));
        known.created((await caller.push('suppliers', items)).records);
      }
      known.spokenOf(step.ids);
    }
  }
}

it(
  'total is the number of present matches for a numbered page, and of matches at the beginning of a walk by cursor',
  { timeout: 120_000 },
  async () => {
    await fc.assert(fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), readBeside), {
      numRuns: Number(process.env['SYNC_WALK_RUNS'] ?? 25),
    });
  },
);
