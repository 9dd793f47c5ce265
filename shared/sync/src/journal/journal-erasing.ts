// Removes errors of failed items from the journal where they may quote an erased record.
import type { Entries, Entry } from './journal-entry.ts';

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
     * product names the supplier that it refers to. Reads all entries with errors, as no index has their texts.
     */
    async forgetErrorsWith(integration: string, texts: readonly string[]): Promise<void> {
      // Hidden entries are found by `hiddenFrom`; they are all due, and few.
      const all = [{ integration }, { hiddenFrom: integration, due: { $exists: true } }];
      for (const those of all) {
        const found = entries
          .find({ ...those, errors: { $exists: true } })
          .project<Pick<Entry, '_id' | 'errors'>>({ errors: 1 });
        for await (const { _id, errors = [] } of found) {
          const named = errors.filter(({ error }) => texts.some((text) => isIn(error, text)));
          if (named.length === 0) continue;
          const indexes = named.map(({ index }) => index);
          await entries.updateOne({ _id }, { $pull: { errors: { index: { $in: indexes } } } });
        }
      }
    },
  };
}

/** Whether the error contains the text, or ends within the name that the text quotes: the journal keeps shortened errors. */
function isIn(error: string, text: string): boolean {
  if (error.includes(text)) return true;
  const begin = text.slice(0, text.indexOf('"') + 1);
  for (let at = error.indexOf(begin, error.length - text.length); at >= 0; at = error.indexOf(begin, at + 1))
    if (text.startsWith(error.slice(at))) return true;
  return false;
}
