// What a tab archives after another tab or another caller has sent records. No browser and no service take part.
import { expect, it } from 'vitest';
import type { KindHistory } from '../../../loader/src/core/sending/history.ts';
import { Pruning } from '../../../console/src/load/worker/pruning.ts';
import { Service } from '../../../console/src/load/worker/service.ts';

const access = { token: 'token', integration: 'erp' };
const url = 'https://sync.example.com';

const loaded = (finishedAt: string | undefined): KindHistory => ({
  url,
  integration: 'erp',
  mark: '2026-11-30T09:00:00Z',
  startedAt: '2026-11-30T09:00:00Z',
  finishedAt,
  files: ['some.csv'],
  rejectedIds: [],
});

/** A service whose batches and suppliers are in `ids`. Notes the ids that are archived. */
class Archive extends Service {
  ids: Record<string, string[]> = { batches: ['B-1'], suppliers: ['S-1'] };
  readonly archived: string[] = [];

  override client(): ReturnType<Service['client']> {
    const { ids, archived } = this;
    const client = {
      async *list(kind: string) {
        for (const externalId of ids[kind] ?? []) yield { externalId, syncStatus: 'SYNCED' };
      },
      async *pages(kind: string) {
        yield { total: ids[kind]?.length };
      },
      archive: async (_kind: string, gone: string[]) => void archived.push(...gone),
    };
    return client as never;
  }
}

it('a tab archives no record that it has not shown, after another tab has left a load unfinished', async () => {
  const service = new Archive(access, { url, onEnded: () => undefined, onWaiting: () => undefined });
  const finished = { batches: loaded('2026-11-30T09:01:00Z'), suppliers: loaded('2026-11-30T09:01:00Z') };
  const pruning = new Pruning(service, access);
  const { found } = await pruning.find(finished);
  expect(found.map(({ ids }) => ids)).toEqual([['B-1'], ['S-1']]);
  service.ids = { batches: ['B-2'], suppliers: ['S-1'] };
  const others = { batches: loaded('2026-11-30T09:02:00Z'), suppliers: loaded(undefined) };
  for (const _ of [1, 2])
    await expect(pruning.archive(100, others)).rejects.toThrow('The last load of suppliers has not finished');
  service.ids = { batches: ['B-1'], suppliers: [] };
  expect((await pruning.archive(100, finished)).isArchived).toBe(false);
  expect(service.archived).toEqual([]);
  service.ids = { batches: ['B-1'], suppliers: ['S-1'] };
  expect((await pruning.archive(100, finished)).isArchived).toBe(false);
  expect((await pruning.archive(100, finished)).isArchived).toBe(true);
  expect(service.archived).toEqual(['B-1', 'S-1']);
});
