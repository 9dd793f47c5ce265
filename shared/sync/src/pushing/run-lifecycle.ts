// How a push stands in the journal and in the watermarks of its listings: begun before its first write, completed
// after its last. A caller sees the state `running` until the push is written, then `completed` (listing/sync-runs.ts).
import { Failure } from '@integration-sync/contracts';
import type { Announcement } from '../announcing/announcement.ts';
import type { Engine } from '../engine.ts';
import type { Completion, Counted } from '../journal/journal-entry.ts';
import type { Claims } from '../watermarks.ts';
import { concludeRun, entryOf, watermarkKeys, type Run, type Written } from './run.ts';

export interface Begun {
  /** The times at which what follows is synchronised. */
  records: Date;
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
  // A sweeper has closed it already, and a listing would miss what it wrote.
  if (!entered) throw takenOver(run, 'Nothing of it was written');
  return { records: records.at, drafts: drafts?.at ?? records.at, claims: records.claims };
}

/** By its journal entry a push is dead after 15 s. A replica whose clock is ahead takes it over earlier. */
const takenOver = (run: Run, what: string): Failure => {
  const seconds = (run.elapsedMs() / 1000).toFixed(1);
  const detail = `Another replica took the push over after ${seconds} s. ${what}; push it again.`;
  return new Failure('unavailable', detail, { retryAfterSeconds: 1 });
};

/** The point of no return: from here on the push is answered with what it did, and announced. */
export async function completeRun(engine: Engine, run: Run, written: Written): Promise<Announcement> {
  const { completion, announcement } = concludeRun(run, written, new Date(engine.now()));
  if (run.records.length === 0) {
    // It had nothing to lose between its beginning and its end, and so it has no entry yet.
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

/** Resolves with how many of them were counted thereby. */
async function closeWatermarks(engine: Engine, run: Run, { created, drafted }: Completion): Promise<Counted> {
  const keys = watermarkKeys(run);
  const [records, drafts] = await Promise.all([
    engine.watermarks.close(keys.records, run.syncId, created),
    keys.drafts === undefined ? false : engine.watermarks.close(keys.drafts, run.syncId, drafted),
  ]);
  return { created: records ? created : 0, drafted: drafts ? drafted : 0 };
}

/** Another replica took this process for dead and settled what had been written until then: it has to be settled again. */
async function giveBack(engine: Engine, run: Run, { settled }: Written, counted: Counted): Promise<never> {
  const changed = settled.filter((one) => one.changed.length > 0);
  const evidence = Object.fromEntries(
    changed.map(({ record, changed: names }) => [record.internalId, names]),
  );
  await engine.journal.reopen({ ...entryOf(engine, run), evidence, counted }, new Date(engine.now()));
  throw takenOver(run, 'Part of it may have been written');
}
