// Settles a journal entry that a dead process left behind. Each step may be repeated, run by two replicas at a time, or be
// interrupted anywhere, with the same result. By the phase of the entry (journal.ts):
//
//   writing, reopened   the stored records tell what the push did; an entry without writes is hidden
//   written, settled    the entry has the outcomes; its watermarks may still have to count, and its events be published
//   watched, hidden     the stored records tell whether writes came after the settling; an entry without any is finished
import { eventBatchesStream } from '@integration-sync/contracts';
import type { AnnouncedRecord, Announcement } from '../announcing/announcement.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { phaseOf, type Completion, type Counted, type Entry } from '../journal/journal-entry.ts';
import {
  examine,
  isMore,
  packOutcomes,
  unpackOutcomes,
  untouched,
  type Outcome,
} from '../records/push-outcome.ts';
import { publishBatchOf, publishEvents } from '../announcing/publish-events.ts';
import { watermarkKeys } from '../pushing/push-state.ts';
import { draftsOf, followLeft, idsOf, leftToFollow } from './follow-drafts.ts';

export async function settleEntry(engine: Engine, of: KindEngine, entry: Entry): Promise<void> {
  const phase = phaseOf(entry);
  if (phase === 'watched' || phase === 'hidden') return lookAgain(engine, of, entry);
  const isWriting = phase === 'writing' || phase === 'reopened';
  const written = isWriting ? await settleWriting(engine, of, entry) : entry;
  if (written === undefined) return;
  if (!isWriting) await settleWatermarks(engine, of, entry, entry);
  // While EVENT_BATCHES has no leader, each try would store the events in EVENTS again: EVENTS forgets their ids after five minutes.
  await engine.bus.streamFacts(eventBatchesStream);
  const stored = await publishEvents(engine, await announcementOf(engine, of, written));
  await publishBatchOf(engine, stored);
  const at = new Date(engine.now());
  if (isWriting || phase === 'settled') await engine.journal.watch(entry._id, entry.owner, at);
  else await engine.journal.markAnnounced([entry._id], at);
}

async function lookAgain(engine: Engine, of: KindEngine, entry: Entry): Promise<void> {
  const before = foundBefore(entry);
  const outcomes = await outcomesOf(engine, of, entry);
  const more =
    outcomes.some((outcome, ordinal) => isMore(outcome, before[ordinal] ?? untouched)) ||
    (await leftToFollow(engine, of, entry, outcomes)).length > 0;
  const at = new Date(engine.now());
  await (more ? engine.journal.settleAgain(entry, at) : engine.journal.finish(entry, at));
}

/** Returns the settled entry; undefined if the push has nothing to announce, or if another replica has taken the entry over. */
async function settleWriting(engine: Engine, of: KindEngine, entry: Entry): Promise<Entry | undefined> {
  if (phaseOf(entry) === 'reopened') {
    await openAgain(engine, of, entry);
    if (!(await engine.journal.noteOpened(entry._id, entry.owner))) return undefined;
  }
  // From here on only the recovery counts what the push wrote. Otherwise the push's own process might count these records too.
  await takeWatermarks(engine, of, entry);
  const outcomes = await followedOutcomes(engine, of, entry);
  const created = outcomes.filter((outcome) => outcome.created).length;
  const drafted = outcomes.filter((outcome) => outcome.drafted).length;
  const updated = outcomes.filter((outcome) => outcome.changed.length > 0).length;
  const at = new Date(engine.now());
  // The watermarks count the push before its entry is settled: a replica that repeats this step finds the push closed.
  if (!(await settleWatermarks(engine, of, entry, { created, drafted }))) {
    // More records are stored than the watermarks have counted.
    await engine.journal.settleAgain(entry, at);
    return undefined;
  }
  if (created + drafted + updated === 0) {
    await engine.journal.hide(entry, at);
    return undefined;
  }
  // A process of a later release may have changed fields that this release does not have.
  const fields = [
    ...new Set([...of.readers[entry.action ?? 'push'].names, ...outcomes.flatMap(({ changed }) => changed)]),
  ];
  const counts = { created, updated, unchanged: 0, failed: entry.failed };
  const packed = packOutcomes(outcomes, fields);
  const completion: Completion = { ...counts, drafted, completedAt: at, fields, outcomes: packed };
  const ours = await engine.journal.settle(entry._id, entry.owner, completion);
  return ours ? { ...entry, ...completion } : undefined;
}

/** The outcomes of the push, after its drafts have followed its records. */
async function followedOutcomes(engine: Engine, of: KindEngine, entry: Entry): Promise<Outcome[]> {
  const outcomes = await outcomesOf(engine, of, entry);
  const left = await leftToFollow(engine, of, entry, outcomes);
  if (left.length === 0) return outcomes;
  await followLeft(engine, of, entry, left);
  return outcomesOf(engine, of, entry);
}

async function outcomesOf(engine: Engine, of: KindEngine, entry: Entry): Promise<Outcome[]> {
  const ids = idsOf(of, entry);
  const [documents, drafts] = await Promise.all([
    of.records.trace(entry.integration, ids),
    draftsOf(engine, of, entry, ids),
  ]);
  // Evidence is read after the records: before another push overwrites a record, it leaves evidence with this entry.
  const evidence = await engine.journal.evidenceOf(entry._id);
  const made = { has: (id: string) => drafts.get(id)?.made === true };
  return examine(entry._id, ids, { documents, evidence, drafts: made });
}

/**
 * Gives a push that wrote after its watermarks were closed, and its records, a later stamp: listings have promised that no
 * further record has the earlier stamp. `noteOpened` then keeps another replica from opening the watermarks again.
 */
async function openAgain(engine: Engine, of: KindEngine, entry: Entry): Promise<void> {
  const keys = watermarkKeys({ ...entry, of });
  const { _id: syncId, integration } = entry;
  const ids = idsOf(of, entry);
  const { created, drafted } = countedOf(entry);
  const { at } = await engine.watermarks.open(keys.records, syncId, created);
  await of.records.stamp(integration, ids, syncId, at);
  if (keys.drafts === undefined) return;
  const drafts = await engine.watermarks.open(keys.drafts, syncId, drafted);
  await of.drafts?.stamp(integration, syncId, ids, drafts.at);
}

async function takeWatermarks(engine: Engine, of: KindEngine, entry: Entry): Promise<void> {
  const { created, drafted } = countedOf(entry);
  const keys = watermarkKeys({ ...entry, of });
  await engine.watermarks.take(keys.records, entry._id, created);
  if (keys.drafts !== undefined) await engine.watermarks.take(keys.drafts, entry._id, drafted);
}

/** Closes the push in its watermarks. False if they were closed with fewer records before. */
async function settleWatermarks(
  engine: Engine,
  of: KindEngine,
  entry: Entry,
  now: Counted,
): Promise<boolean> {
  const { created, drafted } = countedOf(entry);
  const keys = watermarkKeys({ ...entry, of });
  const ofRecords = await engine.watermarks.closeDead(keys.records, entry._id, now.created, created);
  if (keys.drafts === undefined) return ofRecords;
  return (await engine.watermarks.closeDead(keys.drafts, entry._id, now.drafted, drafted)) && ofRecords;
}

/** How many records the push's own process has counted in the watermarks. */
const countedOf = ({ counted = { created: 0, drafted: 0 } }: Entry): Counted => counted;

async function announcementOf(engine: Engine, of: KindEngine, entry: Entry): Promise<Announcement> {
  const ids = idsOf(of, entry);
  const outcomes = foundBefore(entry);
  const drafts = await draftsOf(engine, of, entry, ids);
  const touched = ids.filter((id, ordinal) => {
    const { created = false, changed = [] } = outcomes[ordinal] ?? {};
    return created || drafts.has(id) || changed.length > 0;
  });
  const documents = await of.records.trace(entry.integration, touched);
  const isLate = phaseOf(entry) !== 'written';
  const records = ids.flatMap((internalId, ordinal): AnnouncedRecord[] => {
    const { externalId, push } = documents.get(internalId) ?? {};
    const outcome = outcomes[ordinal];
    if (externalId === undefined || outcome === undefined) return [];
    const isOverwritten = isLate && push !== entry._id;
    const own = drafts.get(internalId);
    const draft = own && { ...own, isOverwritten: isLate && own.isOverwritten };
    return [
      { ordinal, internalId, externalId, outcome, isOverwritten, ...(draft === undefined ? {} : { draft }) },
    ];
  });
  return {
    ...entry,
    syncId: entry._id,
    action: entry.action ?? 'push',
    counts: entry,
    completedAt: entry.completedAt ?? entry.startedAt,
    records,
  };
}

/** The outcomes that the entry has; empty if it has none. */
const foundBefore = ({ outcomes = new Uint8Array(), fields = [] }: Entry): Outcome[] =>
  unpackOutcomes(outcomes, fields);
