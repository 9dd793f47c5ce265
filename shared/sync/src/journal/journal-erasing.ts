// Removes errors of failed items from the journal where they may quote an erased record.
import { limits } from '@integration-sync/contracts';
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
     * Removes the errors that contain one of these texts, or end within one, from all entries of the integration: an error of a
     * product names the supplier that it refers to. The texts differ only in the name that they quote. Reads all entries with
     * errors, as no index has their texts.
     */
    async forgetErrorsWith(integration: string, texts: readonly string[]): Promise<void> {
      const isNamedIn = searchOf(texts);
      // Hidden entries are found by `hiddenFrom`; they are all due, and few.
      const all = [{ integration }, { hiddenFrom: integration, due: { $exists: true } }];
      for (const those of all) {
        const found = entries
          .find({ ...those, errors: { $exists: true } })
          .batchSize(entriesAtOnceMax)
          .project<Pick<Entry, '_id' | 'errors'>>({ errors: 1 });
        for await (const { _id, errors = [] } of found) {
          const named = errors.filter(({ error }) => isNamedIn(error));
          if (named.length === 0) continue;
          const indexes = named.map(({ index }) => index);
          await entries.updateOne({ _id }, { $pull: { errors: { index: { $in: indexes } } } });
        }
      }
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
