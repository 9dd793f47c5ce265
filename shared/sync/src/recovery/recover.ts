// Settling an entry that was left behind in the journal. Everything here may be done twice, by two replicas at
// once, or be cut off anywhere, to the same end. By its phase (journal.ts):
//
//   writing, reopened   the documents tell what was done; as if it had never been, where that is nothing
//   written, settled    it says itself what was done; its watermarks may still have to count it, and its events be
//                       published
//   watched, hidden     the documents tell what has come since it was settled: where that is nothing, it is done with
import type { AnnouncedRecord, Announcement } from '../announcing/announcement.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { unpackIds } from '../ids.ts';
import { phaseOf, type Completion, type Counted, type Entry } from '../journal/journal-entry.ts';
import {
  examine,
  isMore,
  packOutcomes,
  unpackOutcomes,
  untouched,
  type Outcome,
} from '../records/outcome.ts';
import { publishBatchOf, publishEvents } from '../announcing/publish-events.ts';
import { watermarkKeys } from '../pushing/run.ts';

export async function settleEntry(engine: Engine, of: KindEngine, entry: Entry): Promise<void> {
  const phase = phaseOf(entry);
  if (phase === 'watched' || phase === 'hidden') return lookAgain(engine, of, entry);
  const isWriting = phase === 'writing' || phase === 'reopened';
  const written = isWriting ? await settleWriting(engine, of, entry) : entry;
  if (written === undefined) return;
  if (!isWriting) await settleWatermarks(engine, of, entry, entry);
  const stored = await publishEvents(engine, await announcementOf(of, written));
  await publishBatchOf(engine, stored);
  const at = new Date(engine.now());
  if (isWriting || phase === 'settled') await engine.journal.watch(entry._id, entry.owner, at);
  else await engine.journal.markAnnounced([entry._id], at);
}

async function lookAgain(engine: Engine, of: KindEngine, entry: Entry): Promise<void> {
  const before = foundBefore(entry);
  const outcomes = await outcomesOf(engine, of, entry);
  const more = outcomes.some((outcome, place) => isMore(outcome, before[place] ?? untouched));
  const at = new Date(engine.now());
  await (more ? engine.journal.settleAgain(entry, at) : engine.journal.finish(entry, at));
}

/** Undefined where nothing is left to announce, or another replica has taken the entry over. */
async function settleWriting(engine: Engine, of: KindEngine, entry: Entry): Promise<Entry | undefined> {
  if (phaseOf(entry) === 'reopened') {
    await openAgain(engine, of, entry);
    if (!(await engine.journal.noteOpened(entry._id, entry.owner))) return undefined;
  }
  // Before it is looked at: its own process might count what comes after that, and we count it once more later.
  await takeWatermarks(engine, of, entry);
  const outcomes = await outcomesOf(engine, of, entry);
  const created = outcomes.filter((outcome) => outcome.created).length;
  const drafted = outcomes.filter((outcome) => outcome.drafted).length;
  const updated = outcomes.filter((outcome) => outcome.changed.length > 0).length;
  const at = new Date(engine.now());
  // Counted before the entry says so: a replica that goes on where this one was cut off finds the watermarks closed, and
  // counts nothing.
  if (!(await settleWatermarks(engine, of, entry, { created, drafted }))) {
    // More came after they had counted.
    await engine.journal.settleAgain(entry, at);
    return undefined;
  }
  if (created + drafted + updated === 0) {
    await engine.journal.hide(entry, at);
    return undefined;
  }
  const fields = of.readers[entry.action ?? 'push'].names;
  const completion: Completion = {
    created,
    updated,
    drafted,
    unchanged: 0,
    failed: entry.failed,
    completedAt: at,
    fields,
    outcomes: packOutcomes(outcomes, fields),
  };
  const ours = await engine.journal.settle(entry._id, entry.owner, completion);
  return ours ? { ...entry, ...completion } : undefined;
}

async function outcomesOf(engine: Engine, of: KindEngine, entry: Entry): Promise<Outcome[]> {
  const ids = idsOf(of, entry);
  const [documents, drafts] = await Promise.all([
    of.records.trace(entry.integration, ids),
    draftsOf(of, entry, ids),
  ]);
  // Read after the documents: a push that has overwritten one of them by then has left evidence by then.
  const evidence = await engine.journal.evidenceOf(entry._id);
  return examine(entry._id, ids, { documents, evidence, drafts });
}

/**
 * Its writer wrote on after the listings had said that nothing more would come at its time: what it wrote gets a later one.
 * The entry notes that this was done, so that no replica opens what another has counted and closed.
 */
async function openAgain(engine: Engine, of: KindEngine, entry: Entry): Promise<void> {
  const keys = watermarkKeys({ ...entry, of });
  const { _id: syncId, integration } = entry;
  const ids = idsOf(of, entry);
  const { at } = await engine.watermarks.open(keys.records, syncId);
  await of.records.stamp(integration, ids, syncId, at);
  if (keys.drafts === undefined) return;
  const drafts = await engine.watermarks.open(keys.drafts, syncId);
  await of.drafts?.stamp(integration, syncId, ids, drafts.at);
}

async function takeWatermarks(engine: Engine, of: KindEngine, entry: Entry): Promise<void> {
  const { created, drafted } = countedOf(entry);
  const keys = watermarkKeys({ ...entry, of });
  await engine.watermarks.take(keys.records, entry._id, created);
  if (keys.drafts !== undefined) await engine.watermarks.take(keys.drafts, entry._id, drafted);
}

/** False if they have counted fewer before. */
async function settleWatermarks(
  engine: Engine,
  of: KindEngine,
  entry: Entry,
  now: Counted,
): Promise<boolean> {
  const { created, drafted } = countedOf(entry);
  const keys = watermarkKeys({ ...entry, of });
  const ofRecords = await engine.watermarks.settle(keys.records, entry._id, now.created, created);
  if (keys.drafts === undefined) return ofRecords;
  return (await engine.watermarks.settle(keys.drafts, entry._id, now.drafted, drafted)) && ofRecords;
}

/** By its own process. */
const countedOf = ({ counted = { created: 0, drafted: 0 } }: Entry): Counted => counted;

async function announcementOf(of: KindEngine, entry: Entry): Promise<Announcement> {
  const ids = idsOf(of, entry);
  const outcomes = foundBefore(entry);
  const touched = ids.filter((_id, place) => {
    const { created = false, changed = [], drafted = false } = outcomes[place] ?? {};
    return created || drafted || changed.length > 0;
  });
  const [documents, drafts] = await Promise.all([
    of.records.trace(entry.integration, touched),
    draftsOf(of, entry, touched),
  ]);
  const records = ids.flatMap((internalId, place): AnnouncedRecord[] => {
    const externalId = documents.get(internalId)?.externalId;
    const outcome = outcomes[place];
    if (externalId === undefined || outcome === undefined) return [];
    // It has been erased since, and its events would name no record.
    if (externalId === '' && entry.action !== 'erase') return [];
    const draft = drafts.get(internalId);
    return [{ place, internalId, externalId, outcome, ...(draft === undefined ? {} : { draft }) }];
  });
  return {
    ...entry,
    syncId: entry._id,
    action: entry.action ?? 'push',
    counts: entry,
    completedAt: entry.completedAt ?? entry.startedAt,
    draftEvent: of.kind.drafting?.event,
    records,
  };
}

/** Nothing, where it says nothing. */
const foundBefore = ({ outcomes = new Uint8Array(), fields = [] }: Entry): Outcome[] =>
  unpackOutcomes(outcomes, fields);

const idsOf = (of: KindEngine, { ids }: Entry): string[] =>
  unpackIds(of.kind.idPrefix, ids ?? new Uint8Array());

/** By the internal ids of their records, the drafts that the push made. */
const draftsOf = async (
  { drafts }: KindEngine,
  { _id, integration, drafting }: Entry,
  ids: readonly string[],
) => (drafting && drafts !== undefined ? drafts.madeBy(integration, _id, ids) : new Map<string, never>());
