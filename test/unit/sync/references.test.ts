// Records to which others refer, where the primary and a majority of the servers do not have the same.
import type { Store } from '@integration-sync/runtime/store';
import { expect, it } from 'vitest';
import { internalIdOf } from '../../../shared/sync/src/ids.ts';
import { openLookup } from '../../../shared/sync/src/records/references.ts';

const kind = { plural: 'suppliers', idPrefix: 'sup' };
const idOf = (externalId: string): string => internalIdOf(kind.idPrefix, 'acme', externalId);

interface Asked {
  readConcern: string;
  ids: readonly string[];
}

const erased = 'erased ';

/** A database of which the primary has `all`, and a majority those of them that `majority` names when it is asked. */
function lookUp(all: readonly string[], majority: (asked: number) => readonly string[]) {
  const asked: Asked[] = [];
  const collection = {
    find(filter: { _id: { $in: readonly string[] } }, { readConcern }: { readConcern: string }) {
      asked.push({ readConcern, ids: filter._id.$in });
      const turns = asked.filter((one) => one.readConcern === 'majority').length;
      const there = readConcern === 'majority' ? majority(turns) : all;
      const found = there
        .map((externalId) =>
          externalId.startsWith(erased)
            ? { _id: idOf(externalId.slice(erased.length)), externalId: '' }
            : { _id: idOf(externalId), externalId },
        )
        .filter(({ _id }) => filter._id.$in.includes(_id));
      return { toArray: async () => found };
    },
  };
  const finalRead = { readConcern: 'linearizable' };
  const store = { isSharded: false, finalRead, collection: () => collection } as unknown as Store;
  return { asked, lookup: openLookup(store, kind) };
}

it('asks once for records that a majority has', async () => {
  const { asked, lookup } = lookUp(['S-1', 'S-2'], () => ['S-1', 'S-2']);
  expect(await lookup.existing('acme', ['S-1', 'S-2'])).toEqual(new Set(['S-1', 'S-2']));
  expect(asked).toHaveLength(1);
});

it('does not find a record that is nowhere, by a read that only the true primary answers', async () => {
  const { asked, lookup } = lookUp(['S-1'], () => ['S-1']);
  expect(await lookup.existing('acme', ['S-1', 'S-2'])).toEqual(new Set(['S-1']));
  expect(asked.at(-1)).toEqual({ readConcern: 'linearizable', ids: [idOf('S-2')] });
});

it('waits for a record that the primary has, until a majority has it', async () => {
  const { lookup } = lookUp(['S-1'], (turns) => (turns < 3 ? [] : ['S-1']));
  expect(await lookup.existing('acme', ['S-1'])).toEqual(new Set(['S-1']));
});

it('waits for a record that the primary has again and a majority still has as erased', async () => {
  const { lookup } = lookUp(['S-1'], (turns) => (turns < 3 ? [`${erased}S-1`] : ['S-1']));
  expect(await lookup.existing('acme', ['S-1'])).toEqual(new Set(['S-1']));
});

it('does not find an erased record', async () => {
  const { lookup } = lookUp([`${erased}S-1`], () => [`${erased}S-1`]);
  expect(await lookup.existing('acme', ['S-1'])).toEqual(new Set());
});

it('says that the database is not available, where a majority does not have it for long', async () => {
  const { lookup } = lookUp(['S-1'], () => []);
  await expect(lookup.existing('acme', ['S-1'])).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterSeconds: 2,
  });
});
