// Removes errors of failed items from the journal where they may quote an erased record.
import { limits } from '@integration-sync/contracts';
import { allOfThem } from '@integration-sync/runtime/store';
import type { Entries, Entry } from './journal-entry.ts';

/** How many entries are decoded and searched before other requests have a turn. */
const entriesAtOnceMax = 100;

export function openErasingJournal(entries: Entries) {
  return {
    /** Removes the errors of failed items with these ids from all entries of the kind, as an error may quote an item. */
    async forgetErrors(
      { integration, entityType }: Pick<Entry, 'integration' | 'entityType'>,
      externalIds: readonly string[],
    ): Promise<void> {
      const ofThese = { $in: [...externalIds] };
      await entries.updateMany(
        { 'errors.externalId': ofThese, entityType, $or: [{ integration }, { hiddenFrom: integration }] },
        { $pull: { errors: { externalId: ofThese } } },
        { hint: 'failed-ids' },
      );
    },
    /**
     * Removes errors that quote an erased supplier from all entries of the integration: an error that contains one of these texts,
     * or was cut off within one. The texts differ only in the supplier that they quote. Reads all entries with errors, as no index
     * has their texts.
     */
    async forgetErrorsWith(integration: string, texts: readonly string[]): Promise<void> {
      const isNamedIn = searchOf(texts);
      const forgetIn = async (some: readonly Pick<Entry, '_id' | 'errors'>[]): Promise<void> => {
        const writes = some.flatMap(({ _id, errors = [] }) => {
          const indexes = errors.filter(({ error }) => isNamedIn(error)).map(({ index }) => index);
          const update = { $pull: { errors: { index: { $in: indexes } } } };
          return indexes.length === 0 ? [] : [{ updateOne: { filter: { _id }, update } }];
        });
        if (writes.length > 0) await entries.bulkWrite(writes, { ordered: false });
      };
      const withErrors = { errors: { $exists: true } };
      const projection = { errors: 1 } as const;
      for (let after = ''; ;) {
        // Each part has its own query: for each batch of a cursor, FerretDB reads all earlier batches again.
        const some = await entries
          .find(
            { integration, _id: { $gt: after }, ...withErrors },
            { projection, ...allOfThem(entriesAtOnceMax) },
          )
          .hint('history')
          .sort({ integration: -1, _id: 1 })
          .limit(entriesAtOnceMax)
          .toArray();
        const last = some.at(-1);
        if (last === undefined) break;
        await forgetIn(some);
        after = last._id;
      }
      // Hidden entries are found by `hiddenFrom`; they are all due, and few. An entry may have been hidden since its page was read.
      const hidden = { hiddenFrom: integration, due: { $exists: true }, ...withErrors };
      await forgetIn(await entries.find(hidden, { projection }).toArray());
    },
  };
}

/**
 * Whether an error contains one of the texts, or is cut within the name that one of them quotes: the journal shortens errors. Takes the
 * same time for 500 texts as for one, except on errors that are cut.
 */
function searchOf(texts: readonly string[]): (error: string) => boolean {
  const [one = ''] = texts;
  const begin = one.slice(0, one.indexOf('"') + 1);
  const end = one.slice(one.lastIndexOf('"'));
  const all = new Set(texts);
  return (error) => {
    for (let at = error.indexOf(begin); at >= 0; at = error.indexOf(begin, at + 1)) {
      for (let to = error.indexOf(end, at); to >= 0; to = error.indexOf(end, to + 1))
        if (all.has(error.slice(at, to + end.length))) return true;
      const isCut = error.length >= limits.runErrorCharactersMax;
      if (isCut && texts.some((text) => text.startsWith(error.slice(at)))) return true;
    }
    return false;
  };
}
