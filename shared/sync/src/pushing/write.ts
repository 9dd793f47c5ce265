// Writing the records of a push: what is new is inserted, what changes is changed, what does not is noted as
// seen. What another push wrote first is read and sorted again, until nothing is left.
import { Failure } from '@integration-sync/contracts';
import { giveWay } from '@integration-sync/runtime/pace';
import { sortRecords, type Fresh, type Known, type Stored } from '../records/classify.ts';
import { missingDrafts, type DraftFacts } from './drafting.ts';
import type { NewDraft } from '../records/drafts.ts';
import type { Engine } from '../engine.ts';
import { internalIdsOf } from '../ids.ts';
import { beginRun, type Begun } from './run-lifecycle.ts';
import { openPrecedence, type Precedence } from './precedence.ts';
import type { Prepared } from './prepare.ts';
import type { Writing } from '../records/record-document.ts';
import { watermarkKeys, type Run, type Written, type WrittenRecord } from './run.ts';

/** A write that began later might meet a replica that has taken the push over. */
const writingMsMax = 12_000;

export async function writeRecords(
  engine: Engine,
  run: Run,
  { found, stored: known }: Pick<Prepared, 'found' | 'stored'>,
): Promise<Written> {
  const [begun, stored, draftedBefore] = await Promise.all([
    begin(engine, run),
    known ?? readStored(engine, run),
    run.drafting ? run.of.drafts?.existing(run.integration, internalIdsOf(run.records)) : undefined,
  ]);
  await engine.reach('after-entry');
  const contender = {
    syncId: run.syncId,
    key: watermarkKeys(run).records,
    idPrefix: run.of.kind.idPrefix,
    records: run.records,
    waitedMs: run.waitedMs(),
  };
  const precedence = openPrecedence(engine, contender, begun);
  const settled = await settleRecords(engine, run, { begun, precedence, stored }).catch((error: unknown) => {
    precedence.abandon();
    throw error;
  });
  const drafts = await draftMissing(engine, run, begun, settled, { found, draftedBefore });
  await engine.reach('after-writes');
  return { settled, drafts };
}

/** In this order: a push that is acknowledged to a caller that gave up before bears a later stamp than this one. */
async function begin(engine: Engine, run: Run): Promise<Begun> {
  const begun = await beginRun(engine, run);
  await run.permission.renewUnlessPromised();
  return begun;
}

/**
 * A push is mostly of records that are all new or all known, and reading hundreds of absent ones costs a fifth of
 * writing them. So unless the one before it met known ones, a few records tell whether to read all of them; and a few
 * records are not read at all, as inserting them takes no longer. Where that misleads, the database says who was there.
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

/** What becomes of a record once it is written. */
export function settledOf({ record, folded, stored }: Fresh & Partial<Known>): WrittenRecord {
  const { fields, changes, idle } = folded;
  return {
    record,
    created: stored === undefined,
    idle,
    fields,
    changed: [...changes.keys()],
    before: stored?.fields,
  };
}

interface Beginning {
  begun: Begun;
  precedence: Precedence;
  stored: ReadonlyMap<string, Stored>;
}

async function settleRecords(
  engine: Engine,
  run: Run,
  { begun, precedence, stored }: Beginning,
): Promise<WrittenRecord[]> {
  const { integration, syncId } = run;
  const { records, readers } = run.of;
  // Alone, a push has the whole database to itself, and halves of it can be written side by side.
  const parts = engine.semaphore.held === 1 ? 2 : 1;
  const confirm = (): Promise<void> => run.permission.confirm();
  const writing: Writing = { integration, syncId, at: begun.records, parts, confirm };
  const settled: WrittenRecord[] = [];
  const settle = (one: Fresh | Known): void => {
    settled[one.record.place] = settledOf(one);
  };
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
    for (const one of [...fresh, ...changed, ...unchanged]) settle(one);
    if (foundThere.length > 0) engine.pushedAgain.set(watermarkKeys(run).records, true);
    open = [...foundThere, ...changedMeanwhile, ...touchedMeanwhile].map(({ record }) => record);
    if (open.length === 0) break;
    await precedence.claim();
    await precedence.yield();
    await readAgain();
  }
  return settled;
}

/** A push that began later has been there; by now this one may be an older one that nothing waits for. */
function isOvertaken(stored: ReadonlyMap<string, Stored>, begun: Begun): boolean {
  return stored.values().some(({ lastSyncedAt }) => lastSyncedAt > begun.records);
}

function refuseIfLate(run: Run): void {
  if (run.elapsedMs() < writingMsMax) return;
  throw new Failure('timeout', 'The push took too long; part of it may have been written. Push it again.');
}

/**
 * Returns those that another push has changed since they were read. What is about to be overwritten may be all that says
 * what an unfinished push did, so it is left with that push first. All pushes do so, and what this one has changed is never
 * taken for lost because another has changed it again.
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
    const changedById = changedByPush.get(stored.push) ?? new Map<string, readonly string[]>();
    changedByPush.set(stored.push, changedById.set(record.internalId, stored.changed));
  }
  const unsettled = await engine.journal.unsettledAmong([...changedByPush.keys()]);
  for (const [push, changedById] of changedByPush) {
    if (unsettled.has(push)) await engine.journal.keepEvidence(push, changedById);
    else engine.settledPushes.set(push, true);
  }
  await run.permission.confirm();
  const others = await run.of.records.change(known, writing);
  if (others.length === 0) return [];
  // Read after the records: a push that has overwritten one of ours by then has left evidence by then.
  const evidence = await engine.journal.evidenceOf(run.syncId);
  return others.filter(({ record }) => !Object.hasOwn(evidence, record.internalId));
}

/** One for each accepted record that has none. */
async function draftMissing(
  engine: Engine,
  run: Run,
  begun: Begun,
  settled: readonly WrittenRecord[],
  facts: DraftFacts,
): Promise<readonly NewDraft[]> {
  if (run.of.drafts === undefined || facts.draftedBefore === undefined) return [];
  const missing = missingDrafts(run.of.kind, settled, facts, engine.log);
  const { integration, syncId } = run;
  await run.permission.confirm();
  return run.of.drafts.insert(missing, { integration, syncId, at: begun.drafts });
}
