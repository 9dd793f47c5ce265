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

it('references that a majority of the replica set has are read once', async () => {
  const { asked, lookup } = lookUp(['S-1', 'S-2'], () => ['S-1', 'S-2']);
  expect([...(await lookup.existing('acme', ['S-1', 'S-2'])).keys()]).toEqual(['S-1', 'S-2']);
  expect(asked).toHaveLength(1);
});

it('a missing reference is confirmed by a linearizable read', async () => {
  const { asked, lookup } = lookUp(['S-1'], () => ['S-1']);
  expect([...(await lookup.existing('acme', ['S-1', 'S-2'])).keys()]).toEqual(['S-1']);
  expect(asked.at(-1)).toEqual({ readConcern: 'linearizable', ids: [idOf('S-2')] });
});

it('a reference that only the primary has waits for the majority', async () => {
  const { lookup } = lookUp(['S-1'], (turns) => (turns < 3 ? [] : ['S-1']));
  expect([...(await lookup.existing('acme', ['S-1'])).keys()]).toEqual(['S-1']);
});

it('a reference that is restored at the primary, but still erased at the majority, waits for the majority', async () => {
  const { lookup } = lookUp(['S-1'], (turns) => (turns < 3 ? [`${erased}S-1`] : ['S-1']));
  expect([...(await lookup.existing('acme', ['S-1'])).keys()]).toEqual(['S-1']);
});

it('an erased record satisfies no reference', async () => {
  const { lookup } = lookUp([`${erased}S-1`], () => [`${erased}S-1`]);
  expect([...(await lookup.existing('acme', ['S-1'])).keys()]).toEqual([]);
});

it('a reference that the majority lacks for long makes the push unavailable', async () => {
  const { lookup } = lookUp(['S-1'], () => []);
  await expect(lookup.existing('acme', ['S-1'])).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterSeconds: 2,
  });
});
