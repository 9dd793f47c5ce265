import type { RunsQuestion, SyncRun } from '@integration-sync/contracts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readNewest, type ReadRuns } from '../../../shared/sync/src/listing/sync-runs.ts';

const run = (syncId: string): SyncRun => ({
  syncId,
  entityType: 'supplier',
  action: 'push',
  state: 'completed',
  created: 0,
  updated: 0,
  unchanged: 0,
  failed: 0,
  startedAt: '2026-03-31T09:26:53.589Z',
  completedAt: '2026-03-31T09:26:53.589Z',
  client: null,
});

interface Counted {
  read: ReadRuns;
  questions: RunsQuestion[];
}

/** A journal in a list. */
function sourceOf(ids: readonly string[]): Counted {
  const questions: RunsQuestion[] = [];
  return {
    questions,
    async read(question) {
      const { before, skip, limit, counted } = question;
      questions.push(question);
      const runs = ids
        .filter((id) => before === null || id < before)
        .toSorted()
        .toReversed()
        .slice(skip, skip + limit)
        .map(run);
      return { runs, total: counted ? ids.length : 0 };
    },
  };
}

const readsOf = (sources: readonly Counted[]): ReadRuns[] => sources.map(({ read }) => read);

const away: ReadRuns = () => Promise.reject(new Error('away'));

const name = (index: number): string => `sync_${String(index).padStart(6, '0')}`;

describe('reading the newest runs of several journals', () => {
  it('gives, page by page, the runs that a single journal with all runs gives', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 2 }),
        fc.integer({ min: 1, max: 9 }),
        async (owners, journals, limit) => {
          const ids = owners.map((_owner, index) => name(index));
          const sources = Array.from({ length: journals + 1 }, (_, journal) =>
            sourceOf(ids.filter((_id, index) => (owners[index] ?? 0) % (journals + 1) === journal)),
          );
          const newestFirst = ids.toReversed();
          for (let skip = 0; skip <= ids.length + limit; skip += limit) {
            const { runs, total } = await readNewest(readsOf(sources), { before: null, skip, limit });
            expect(runs.map(({ syncId }) => syncId)).toEqual(newestFirst.slice(skip, skip + limit));
            expect(total).toBe(ids.length);
          }
        },
      ),
    );
  });

  it('continues at a cursor, with the true total', async () => {
    const sources = [sourceOf([name(1), name(4)]), sourceOf([name(2), name(3)])];
    const { runs, total } = await readNewest(readsOf(sources), { before: name(4), skip: 0, limit: 2 });
    expect(runs.map(({ syncId }) => syncId)).toEqual([name(3), name(2)]);
    expect(total).toBe(4);
  });

  it('needs a few small queries for a deep page', async () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => name(index));
    const sources = [
      sourceOf(ids.filter((_, index) => index % 3 > 0)),
      sourceOf(ids.filter((_, index) => index % 3 === 0)),
    ];
    const { runs } = await readNewest(readsOf(sources), { before: null, skip: 19_000, limit: 100 });
    expect(runs.map(({ syncId }) => syncId)).toEqual(ids.toReversed().slice(19_000, 19_100));
    for (const { questions } of sources) {
      expect(questions.length).toBeLessThan(40);
      expect(questions.reduce((sum, { limit }) => sum + limit, 0)).toBeLessThan(200);
      // A database reads the runs that it skips.
      expect(questions.reduce((sum, { skip }) => sum + skip, 0)).toBeLessThan(19_000);
    }
  });

  it('fails when one journal cannot be read', async () => {
    await expect(
      readNewest([sourceOf([name(1)]).read, away], { before: null, skip: 0, limit: 5 }),
    ).rejects.toThrow('away');
  });
});
