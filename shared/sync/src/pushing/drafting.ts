// Makes the drafts of a push: one for each record that has no draft yet.
import type { Log } from '@integration-sync/runtime/log';
import type { NewDraft } from '../records/drafts.ts';
import type { PushedRecord } from '../items/fold.ts';
import type { Fields, Kind } from '../kind.ts';

export interface DraftFacts {
  /** By externalId, the records to which the pushed records refer. */
  found: ReadonlyMap<string, unknown>;
  /** The ids of existing drafts; undefined if the push does not ask for drafts. */
  draftedBefore: ReadonlySet<string> | undefined;
}

export function missingDrafts(
  { drafting: rule, reference }: Kind,
  settled: readonly { record: PushedRecord; fields: Fields }[],
  { found, draftedBefore }: DraftFacts,
  log: Log,
): NewDraft[] {
  if (rule === undefined || draftedBefore === undefined) return [];
  return settled.flatMap(({ record, fields }): NewDraft[] => {
    const { place, internalId, externalId } = record;
    const id = rule.idOf(internalId);
    if (draftedBefore.has(id)) return [];
    try {
      const parent = found.get(String(fields[reference?.field ?? '']));
      return [{ place, id, entry: rule.draft({ internalId, externalId, fields }, parent) }];
    } catch (error) {
      log.error({ err: error, internalId }, 'the replica could not make a draft for a record');
      return [];
    }
  });
}
