// Begins a push in the journal and in its watermarks before the first write, and completes both after the last write.
// The history of pushes shows the state `running` until then, and `completed` afterwards (listing/sync-runs.ts).
import { Failure } from '@integration-sync/contracts';
import type { Announcement } from '../announcing/announcement.ts';
import type { Engine } from '../engine.ts';
import type { Completion, Counted } from '../journal/journal-entry.ts';
import type { Claims } from '../watermarks.ts';
import { concludeRun, entryOf, watermarkKeys, type Run, type Written } from './push-state.ts';

export interface Begun {
  /** `lastSyncedAt` of the records that the push writes. */
  records: Date;
  /** `lastSyncedAt` of the drafts that the push makes. */
  drafts: Date;
  /** Pushes of the same listing that claim to go first. */
  claims: Claims;
}

export async function beginRun(engine: Engine, run: Run): Promise<Begun> {
  const keys = watermarkKeys(run);
  const [records, drafts, entered] = await Promise.all([
    engine.watermarks.open(keys.records, run.syncId),
    keys.drafts === undefined ? undefined : engine.watermarks.open(keys.drafts, run.syncId),
    engine.journal.insert(entryOf(engine, run)),
  ]);
  // A tombstone exists: a sweeper has closed the watermarks already, so that listings could miss the push's writes.
  if (!entered) throw takenOver(run, 'None of its records was written');
  // Asks whether the caller still waits. A push that the caller sends after giving up has a later stamp than this push.
  await run.permission.renewUnlessPromised();
  return { records: records.at, drafts: drafts?.at ?? records.at, claims: records.claims };
}

/** Another replica may take a journal entry over after 15 s, or earlier if its clock is ahead. */
const takenOver = (run: Run, what: string): Failure => {
  const seconds = (run.elapsedMs() / 1000).toFixed(1);
  const detail = `Another replica took the push over after ${seconds} s. ${what}; push it again.`;
  return new Failure('unavailable', detail, { retryAfterSeconds: 1 });
};

/** Completes the journal entry. After that the push cannot fail any more: it is answered and announced. */
export async function completeRun(engine: Engine, run: Run, written: Written): Promise<Announcement> {
  const { completion, announcement } = concludeRun(run, written, new Date(engine.now()));
  if (run.records.length === 0) {
    // A push without valid items writes no records, so its entry is inserted only here.
    await engine.journal.insert({ ...entryOf(engine, run), ...completion, state: 'written' });
    return announcement;
  }
  const [kept, counted] = await Promise.all([
    engine.journal.complete(run.syncId, engine.owner, completion),
    closeWatermarks(engine, run, completion),
  ]);
  if (!kept) await giveBack(engine, run, written, counted);
  engine.settledPushes.set(run.syncId, true);
  return announcement;
}

/** Resolves with how many records and drafts this call counted. */
async function closeWatermarks(engine: Engine, run: Run, { created, drafted }: Completion): Promise<Counted> {
  const keys = watermarkKeys(run);
  const [records, drafts] = await Promise.all([
    engine.watermarks.close(keys.records, run.syncId, created),
    keys.drafts === undefined ? false : engine.watermarks.close(keys.drafts, run.syncId, drafted),
  ]);
  return { created: records ? created : 0, drafted: drafts ? drafted : 0 };
}

/** Another replica took the entry over and settled the writes that it found: the entry must be settled again. */
async function giveBack(engine: Engine, run: Run, { applied }: Written, counted: Counted): Promise<never> {
  const changed = applied.filter((one) => one.changed.length > 0);
  const evidence = Object.fromEntries(
    changed.map(({ record, changed: names }) => [record.internalId, names]),
  );
  await engine.journal.reopen({ ...entryOf(engine, run), evidence, counted }, new Date(engine.now()));
  throw takenOver(run, 'Some of its records may have been written');
}
