// The drafts of a push that a dead process left behind: which the push has written, and which do not follow their records yet.
import type { Engine, KindEngine } from '../engine.ts';
import { unpackIds } from '../ids.ts';
import type { Entry } from '../journal/journal-entry.ts';
import { followRecords, writtenBy, type OwnDraft } from '../pushing/drafting.ts';
import { watermarkKeys } from '../pushing/push-state.ts';
import type { Outcome } from '../records/push-outcome.ts';

/** The internal ids of the push's records, in their order. */
export const idsOf = ({ kind }: KindEngine, { ids }: Entry): string[] =>
  unpackIds(kind.idPrefix, ids ?? new Uint8Array());

/** The drafts that the push made or changed, as it left them, by the internal ids of their records. */
export async function draftsOf(
  { journal }: Pick<Engine, 'journal'>,
  { drafts }: KindEngine,
  { _id: syncId, integration, drafting }: Entry,
  ids: readonly string[],
): Promise<Map<string, OwnDraft>> {
  if (!drafting || drafts === undefined) return new Map();
  return writtenBy(journal, syncId, await drafts.read(integration, ids));
}

/** Recovery completes the push whether its caller still waits or not. */
const confirm = (): Promise<void> => Promise.resolve();

interface Left {
  ordinal: number;
  internalId: string;
}

/** The records of which the push changed followed fields, and whose drafts it has not written. */
export async function leftToFollow(
  engine: Pick<Engine, 'journal'>,
  of: KindEngine,
  entry: Entry,
  outcomes: readonly Outcome[],
): Promise<Left[]> {
  const rule = of.kind.drafting;
  if (!entry.drafting || rule === undefined || of.drafts === undefined) return [];
  const ids = idsOf(of, entry);
  const named = ids.flatMap((internalId, ordinal): (Left & { created: boolean })[] => {
    const { created = false, changed = [] } = outcomes[ordinal] ?? {};
    const mayLead = created || rule.follows.some((name) => changed.includes(name));
    return mayLead ? [{ ordinal, internalId, created }] : [];
  });
  if (named.length === 0) return [];
  const drafts = await draftsOf(engine, of, entry, ids);
  const undone = named.filter(({ internalId }) => !drafts.has(internalId));
  const undoneIds = undone.map(({ internalId }) => internalId);
  const stored = await of.records.read(entry.integration, undoneIds);
  return undone.filter(({ internalId, created }) => {
    const fields = stored.get(internalId)?.fields;
    return fields !== undefined && (!created || rule.isWanted(fields));
  });
}

/** Makes and changes the drafts of these records as the push would have done. */
export async function followLeft(
  engine: Engine,
  of: KindEngine,
  entry: Entry,
  left: readonly Left[],
): Promise<void> {
  const { _id: syncId, integration, traceparent } = entry;
  const { kind, records, drafts } = of;
  const key = watermarkKeys({ ...entry, of }).drafts;
  if (drafts === undefined || key === undefined) return;
  const ids = left.map(({ internalId }) => internalId);
  const { at } = await engine.watermarks.open(key, syncId);
  const before = await drafts.read(integration, ids);
  // The records are read after the drafts, as a late write of the push may have arrived meanwhile.
  const [own, stored, traces] = await Promise.all([
    writtenBy(engine.journal, syncId, before),
    records.read(integration, ids),
    records.trace(integration, ids),
  ]);
  const followed = left.flatMap(({ ordinal, internalId }) => {
    const { fields } = stored.get(internalId) ?? {};
    const { externalId } = traces.get(internalId) ?? {};
    if (own.has(internalId) || fields === undefined || externalId === undefined) return [];
    return { record: { ordinal, internalId, externalId }, fields, isChanged: true };
  });
  const parents = new Set(followed.map(({ fields }) => String(fields[kind.reference?.field ?? ''])));
  const asking = { integration, requestId: syncId, traceparent };
  const found = (await kind.reference?.find([...parents], asking, true)) ?? new Map<string, unknown>();
  const facts = { found, before, asked: false };
  await followRecords(
    engine,
    { kind, records, drafts },
    { integration, syncId, at, confirm },
    followed,
    facts,
  );
}
