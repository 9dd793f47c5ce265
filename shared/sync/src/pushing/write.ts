// Writes the records of a push: inserts new records, updates changed records, and touches unchanged records (a new `lastSyncedAt`).
// Records that another push wrote first are read and sorted again, until no record is left.
import { Failure } from '@integration-sync/contracts';
import { giveWay } from '@integration-sync/runtime/pace';
import { sortRecords, type Fresh, type Known, type Stored } from '../records/sort-records.ts';
import { followedOf, followRecords, isFollowed, type DraftFacts } from './drafting.ts';
import type { StoredDraft, WrittenDraft } from '../records/drafts.ts';
import type { Engine } from '../engine.ts';
import { internalIdsOf } from '../ids.ts';
import { beginRun, type Begun } from './run-lifecycle.ts';
import { openPrecedence, type Precedence } from './longest-waiting-first.ts';
import type { Writing } from '../records/record-document.ts';
import { watermarkKeys, type Run, type Written, type WrittenRecord } from './push-state.ts';

/** How long after its start a push may begin writes. After 15 s another replica may take the push over. */
const writingMsMax = 12_000;

export async function writeRecords(engine: Engine, run: Run): Promise<Written> {
  const [begun, stored, before] = await Promise.all([
    beginRun(engine, run),
    run.stored ?? readStored(engine, run),
    readDrafts(run),
  ]);
  await engine.reach('after-entry');
  const precedence = openPrecedence(engine, run, begun);
  const applied = await applyItems(engine, run, { begun, precedence, stored }).catch((error: unknown) => {
    precedence.abandon();
    throw error;
  });
  await engine.reach('before-drafts');
  const facts = { found: run.found, before, asked: run.asked };
  const drafts = await followDrafts(engine, run, begun, applied, facts);
  await engine.reach('after-writes');
  return { applied, drafts };
}

/**
 * The records of a push are mostly all new or all existing, and reading hundreds of absent records costs a fifth of writing them.
 * So unless the last push to the listing named existing records, a sample tells whether to read all. A push of few records reads
 * none. Inserting a record that exists after all fails as a duplicate.
 */
async function readStored(engine: Engine, run: Run): Promise<ReadonlyMap<string, Stored>> {
  const ids = internalIdsOf(run.records);
  const listing = watermarkKeys(run).records;
  const wholly = engine.pushedAgain.get(listing) === true;
  if (!wholly && ids.length <= sampleMax) return new Map();
  const some = ids.filter((_id, index) => index % Math.ceil(ids.length / sampleMax) === 0);
  const sample = await run.of.records.read(run.integration, wholly ? ids : some);
  if (sample.size === 0) engine.pushedAgain.delete(listing);
  else engine.pushedAgain.set(listing, true);
  return wholly || sample.size === 0 ? sample : run.of.records.read(run.integration, ids);
}

const sampleMax = 8;

/** The result for a record that is written, or that a plan would write. */
export function appliedOf({ record, folded, stored }: Fresh & Partial<Known>): WrittenRecord {
  const { fields, idle } = folded;
  const changed = [...folded.changes.keys()];
  return { record, created: stored === undefined, idle, fields, changed, before: stored?.fields };
}

interface Beginning {
  begun: Begun;
  precedence: Precedence;
  stored: ReadonlyMap<string, Stored>;
}

async function applyItems(
  engine: Engine,
  run: Run,
  { begun, precedence, stored }: Beginning,
): Promise<WrittenRecord[]> {
  const { integration, syncId } = run;
  const { records, readers } = run.of;
  // A push that runs alone in this process writes two parts in parallel.
  const parts = engine.semaphore.held === 1 ? 2 : 1;
  const confirm = (): Promise<void> => run.permission.confirm();
  const writing: Writing = { integration, syncId, at: begun.records, parts, confirm };
  const applied: WrittenRecord[] = [];
  const insert = async (fresh: readonly Fresh[]): Promise<Fresh[]> => {
    const foundThere = await records.insert(fresh, writing);
    await engine.reach('amid-writes');
    return foundThere;
  };

  let open = run.records;
  let storedById = stored;
  const readAgain = async (): Promise<void> => {
    storedById = await records.read(integration, internalIdsOf(open));
    await run.permission.renew();
  };
  if (await precedence.yield()) await readAgain();
  else if (isOvertaken(stored, begun)) await run.permission.renew();
  while (open.length > 0) {
    refuseIfLate(run);
    await giveWay(open.length);
    const { fresh, changed, unchanged } = sortRecords(readers[run.action], open, storedById);
    await run.permission.confirm();
    const [foundThere, changedMeanwhile, touchedMeanwhile] = await Promise.all([
      insert(fresh),
      changeRecords(engine, run, changed, writing),
      records.touch(unchanged, writing),
    ]);
    for (const one of [...fresh, ...changed, ...unchanged]) applied[one.record.ordinal] = appliedOf(one);
    if (foundThere.length > 0) engine.pushedAgain.set(watermarkKeys(run).records, true);
    open = [...foundThere, ...changedMeanwhile, ...touchedMeanwhile].map(({ record }) => record);
    if (open.length === 0) break;
    await precedence.claim();
    await precedence.yield();
    await readAgain();
  }
  return applied;
}

/** Whether a later push has written one of the records, so that the caller of this push may have given up. */
function isOvertaken(stored: ReadonlyMap<string, Stored>, begun: Begun): boolean {
  return stored.values().some(({ lastSyncedAt }) => lastSyncedAt > begun.records);
}

function refuseIfLate(run: Run): void {
  if (run.elapsedMs() < writingMsMax) return;
  throw new Failure(
    'timeout',
    'The push took too long; some of its records may have been written. Push it again.',
  );
}

/**
 * Returns the records that another push has changed since this push read them. A record may be the only trace of an unfinished
 * push, so this push first leaves the record's changed fields as evidence with that push's entry. Other pushes leave evidence
 * with this push's entry in the same way: records with such evidence were changed by this push, and are not returned.
 */
async function changeRecords(
  engine: Engine,
  run: Run,
  known: readonly Known[],
  writing: Writing,
): Promise<Known[]> {
  const changedByPush = new Map<string, Map<string, readonly string[]>>();
  for (const { record, stored } of known) {
    if (stored.changed === undefined || engine.settledPushes.get(stored.push) === true) continue;
    changedByPush.getOrInsertComputed(stored.push, () => new Map()).set(record.internalId, stored.changed);
  }
  const unsettled = await engine.journal.unsettledAmong([...changedByPush.keys()]);
  for (const [push, changedById] of changedByPush) {
    if (unsettled.has(push)) await engine.journal.keepEvidence(push, changedById);
    else engine.settledPushes.set(push, true);
  }
  await run.permission.confirm();
  const others = await run.of.records.change(known, writing);
  if (others.length === 0) return [];
  // Evidence is read after the records: before another push overwrites a record, it leaves evidence with this push's entry.
  const evidence = await engine.journal.evidenceOf(run.syncId);
  return others.filter(({ record }) => !Object.hasOwn(evidence, record.internalId));
}

/** The drafts of the records that a push may draft or change; these drafts are read before the records are written. */
async function readDrafts(run: Run): Promise<Map<string, StoredDraft>> {
  const { asked, drafting, of, integration, records } = run;
  if (!drafting || of.drafts === undefined) return new Map();
  const named = asked
    ? records
    : records.filter(({ items }) => items.some((item) => isFollowed(of.kind, item)));
  return of.drafts.read(integration, internalIdsOf(named));
}

async function followDrafts(
  engine: Engine,
  run: Run,
  begun: Begun,
  applied: readonly WrittenRecord[],
  facts: DraftFacts,
): Promise<readonly WrittenDraft[]> {
  const { of, integration, syncId, permission } = run;
  const { kind, drafts } = of;
  if (!run.drafting || drafts === undefined) return [];
  const confirm = (): Promise<void> => {
    refuseIfLate(run);
    return permission.confirm();
  };
  const named = run.asked
    ? applied
    : applied.filter(({ record }) => record.items.some((item) => isFollowed(kind, item)));
  const writing = { integration, syncId, at: begun.drafts, confirm };
  return followRecords(engine, { ...of, drafts }, writing, followedOf(kind, named), facts);
}
