// Makes the drafts that records lack, and has drafts follow the fields of their records. A draft copies these fields
// from its record in three steps:
//
//   1   the push reads the draft
//   2   the push writes its record, or finds the record unchanged, so that it knows the fields as of a moment after step 1
//   3   the push writes the draft, if the draft is as in step 1; else it begins again, and step 2 reads the record
//
// A push that changed followed fields writes the draft even where the draft shows them already: a push that has read an older record
// then finds the draft changed. If there is no draft in step 1, the push makes it, even if it cleared the fields: a push that has read
// the fields as they were may be about to make the draft, and then finds it made. So a draft agrees with its record once the last push
// of the record has ended. If the process dies before step 3, recovery takes the three steps (recovery/follow-drafts.ts).
import { ddsAnnounced } from '@integration-sync/contracts';
import type { Engine, KindEngine } from '../engine.ts';
import type { Journal } from '../journal/journal.ts';
import type { Fields, Item, Kind } from '../kind.ts';
import {
  writerOf,
  type ChangedDraft,
  type Drafts,
  type NewDraft,
  type StoredDraft,
  type WrittenDraft,
} from '../records/drafts.ts';
import type { Writing } from '../records/record-document.ts';

/** A record whose draft the push may have to make or change. */
export interface Followed {
  record: { ordinal: number; internalId: string; externalId: string };
  fields: Fields;
  /** Whether the push changed a field that the draft follows, or created the record with such a field. */
  isChanged: boolean;
}

export interface DraftFacts {
  /** By externalId, the records to which the pushed records refer. */
  found: ReadonlyMap<string, unknown>;
  /** By internal id, the drafts as they were read before their records were written. */
  before: ReadonlyMap<string, StoredDraft>;
  /** Whether the push asks for drafts of all its records. */
  asked: boolean;
}

/** Whether an item sets or clears a field that drafts follow. */
export const isFollowed = ({ drafting }: Kind, item: Item): boolean =>
  drafting?.follows.some((name) => item[name] !== undefined) === true;

export function followedOf(
  { drafting }: Kind,
  applied: readonly (Omit<Followed, 'isChanged'> & { created: boolean; changed: readonly string[] })[],
): Followed[] {
  return applied.map(({ record, fields, created, changed }) => ({
    record,
    fields,
    isChanged:
      drafting?.follows.some((name) => (created ? fields[name] !== undefined : changed.includes(name))) ===
      true,
  }));
}

interface DraftWrites {
  makes: NewDraft[];
  changes: ChangedDraft[];
}

export function draftWrites(
  { drafting: rule, reference }: Kind,
  followed: readonly Followed[],
  { found, before, asked }: DraftFacts,
): DraftWrites {
  const writes: DraftWrites = { makes: [], changes: [] };
  if (rule === undefined) return writes;
  for (const { record, fields, isChanged } of followed) {
    const { ordinal, internalId, externalId } = record;
    const stored = before.get(internalId);
    const shown = stored && rule.shown(stored.entry);
    if (shown === undefined && !asked && !isChanged && !rule.isWanted(fields)) continue;
    const parent = found.get(String(fields[reference?.field ?? '']));
    const entry = rule.draft({ internalId, externalId, fields }, parent, shown);
    if (stored === undefined || shown === undefined) {
      writes.makes.push({ ordinal, internalId, entry });
    } else if (isChanged || JSON.stringify(entry) !== JSON.stringify(shown)) {
      const changed = ddsAnnounced.filter((key) => entry[key] !== shown[key]);
      writes.changes.push({ ordinal, internalId, entry, before: stored, changed });
    }
  }
  return writes;
}

type Of = Pick<KindEngine, 'kind' | 'records'> & { drafts: Drafts };

/** Resolves with the drafts of statements that this push has made or changed. */
export async function followRecords(
  { journal }: Pick<Engine, 'journal'>,
  { kind, records, drafts }: Of,
  writing: Pick<Writing, 'integration' | 'syncId' | 'at' | 'confirm'>,
  followed: readonly Followed[],
  facts: DraftFacts,
): Promise<WrittenDraft[]> {
  const { integration, syncId } = writing;
  const written: WrittenDraft[] = [];
  let open = followed;
  let { before } = facts;
  for (;;) {
    const { makes, changes } = draftWrites(kind, open, { ...facts, before });
    if (makes.length + changes.length === 0) return written;
    await leaveEvidence(journal, syncId, changes);
    await writing.confirm();
    const [inserted, updated] = await Promise.all([
      drafts.insert(makes, writing),
      drafts.change(changes, writing),
    ]);
    for (const draft of inserted) written.push({ ...draft, made: true, changed: [] });
    for (const draft of updated) written.push({ ...draft, made: false });
    const done = new Set(written.map(({ ordinal }) => ordinal));
    const lost = new Set(
      [...makes, ...changes].flatMap(({ ordinal }) => (done.has(ordinal) ? [] : [ordinal])),
    );
    if (lost.size === 0) return written;
    open = open.filter(({ record }) => lost.has(record.ordinal));
    const ids = open.map(({ record }) => record.internalId);
    before = await drafts.read(integration, ids);
    const [own, stored] = await Promise.all([
      writtenBy(journal, syncId, before),
      records.read(integration, ids),
    ]);
    open = open.flatMap(({ record, fields, isChanged }) => {
      const { internalId, ordinal } = record;
      const draft = own.get(internalId);
      if (draft === undefined) return { record, fields: stored.get(internalId)?.fields ?? fields, isChanged };
      // This push has written the draft: the answer to the write was lost, or recovery has written for the push.
      written.push({ ordinal, internalId, ...draft });
      return [];
    });
  }
}

export type OwnDraft = Pick<WrittenDraft, 'entry' | 'made' | 'changed'> & { isOverwritten: boolean };

/** The drafts among those just read that the push has made or changed, as it left them, by the internal ids of their records. */
export async function writtenBy(
  journal: Pick<Journal, 'keptDraftsOf'>,
  syncId: string,
  read: ReadonlyMap<string, StoredDraft>,
): Promise<Map<string, OwnDraft>> {
  const written = new Map<string, OwnDraft>();
  // The entry is read after the drafts: before another push overwrites a draft, it copies the draft to this push's entry.
  const kept = await journal.keptDraftsOf(syncId);
  for (const [id, draft] of read) {
    const made = draft.push === syncId;
    const isOverwritten = writerOf(draft) !== syncId;
    const own: Pick<StoredDraft, 'entry' | 'changed'> | undefined = isOverwritten
      ? (kept[id] ?? (made ? { entry: draft.entry } : undefined))
      : draft;
    if (own !== undefined)
      written.set(id, { entry: own.entry, made, changed: own.changed ?? [], isOverwritten });
  }
  return written;
}

/** Copies each draft to the entry of the push that wrote it last, unless that push is announced: no other trace remains. */
async function leaveEvidence(
  journal: Journal,
  syncId: string,
  changes: readonly ChangedDraft[],
): Promise<void> {
  const byPush = Map.groupBy(changes, ({ before }) => writerOf(before));
  byPush.delete(syncId);
  if (byPush.size === 0) return;
  const unannounced = await journal.unannouncedAmong([...byPush.keys()]);
  for (const [push, overwritten] of byPush) {
    if (!unannounced.has(push)) continue;
    const draftById = new Map(
      overwritten.map(({ internalId, before: { entry, changed = [] } }) => [internalId, { entry, changed }]),
    );
    await journal.keepDrafts(push, draftById);
  }
}
