// Checks a storm by its ledger alone, so that the check can be repeated long after the stack is gone.
import { readLedger } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import type { PendingLine, Sighting, StoredLine } from '../lines.ts';
import { checkAnswers, checkStatuses } from './answers.ts';
import { checkAttempts } from './attempts.ts';
import { checkDeliveries } from './deliveries.ts';
import { checkDescribed } from './described.ts';
import { checkDrafts } from './drafts.ts';
import { checkFailovers } from './failovers.ts';
import { checkEventOrder } from './event-order.ts';
import { checkChanges } from './changes.ts';
import { checkErased } from './erased.ts';
import { checkEventTimes } from './event-times.ts';
import { checkFeed } from './feed.ts';
import { checkInFlight } from './in-flight.ts';
import { checkKeys } from './keys.ts';
import { checkMirror } from './mirror.ts';
import { checkCompleted, checkEvents, readStream, type StreamFacts } from './events.ts';
import { worldOf } from './fields.ts';
import { checkFloor } from './floor.ts';
import { figuresOf, type Figures } from './figures.ts';
import { keyOf, readHistory, type History } from './history.ts';
import { checkHotFields, checkIdentities, checkListings, readListings } from './listings.ts';
import { checkMemory } from './memory.ts';
import { checkPrivate } from './private.ts';
import { checkPolls, checkReads, completedPolls, seenByRecord } from './reads.ts';
import { checkReferences } from './references.ts';
import { checkRepeats } from './repeats.ts';
import { checkRuns } from './runs.ts';
import { openTally, type Report, type Tally, type ViolationClass } from './violations.ts';

export interface Verdict {
  figures: Figures;
  tallies: ReadonlyMap<ViolationClass, Tally>;
}

export type Ledger = Awaited<ReturnType<typeof readAll>>;

export async function verify(folder: string): Promise<Verdict> {
  return judge(await readAll(folder));
}

async function readAll(folder: string) {
  const { rules, seconds } = readPlan(folder);
  return {
    within: rules.within,
    floor: rules.floor,
    seconds,
    begun: await readLedger(folder, 'begun'),
    ended: await readLedger(folder, 'ended'),
    pages: await readLedger(folder, 'pages'),
    runsRead: await readLedger(folder, 'runs-read'),
    endpoints: await readLedger(folder, 'endpoints'),
    deliveries: await readLedger(folder, 'deliveries'),
    asks: await readLedger(folder, 'asks'),
    hits: await readLedger(folder, 'hits'),
    givenUp: await readLedger(folder, 'given-up'),
    replays: await readLedger(folder, 'replays'),
    attempts: await readLedger(folder, 'attempts'),
    faults: await readLedger(folder, 'faults'),
    leaders: await readLedger(folder, 'leaders'),
    memory: await readLedger(folder, 'memory'),
    listed: await readLedger(folder, 'listed'),
    runs: await readLedger(folder, 'runs'),
    drafts: await readLedger(folder, 'drafts'),
    stored: await readLedger(folder, 'stored'),
    pending: await readLedger(folder, 'pending'),
    events: await readLedger(folder, 'events'),
    notes: await readLedger(folder, 'notes'),
  };
}

export function judge(ledger: Ledger): Verdict {
  const { report, tallies } = openTally();
  const history = readHistory(ledger.begun, ledger.ended, ledger.runsRead);
  const { pushes } = history;
  for (const { note, isViolation } of ledger.notes) if (isViolation) report({ class: 'storm', what: note });
  checkAnswers(pushes, report);
  checkStatuses(pushes, ledger.faults, report);
  checkReferences(pushes, report);
  checkMemory(ledger.memory, report);

  const listed = readListings(ledger.listed, report);
  const pending = openPending(ledger.pending, listed);
  checkListings(history, { lines: ledger.listed, listed }, { pendingOf: pending.countOf, report });
  checkIdentities(history, listed, report);
  const { drafts, events } = ledger;
  checkDrafts(history, { listed: drafts, events }, { isPending: pending.hasRecord, report });
  checkRuns(history, ledger.runs, { isPending: pending.hasRun, report });
  checkDeliveries(ledger, report);
  checkDescribed(ledger, report);
  checkRepeats(pushes, ledger, report);
  checkAttempts(pushes, ledger, report);
  checkFloor(pushes, ledger, report);
  checkInFlight(ledger, report);
  checkFeed(history, ledger, report);
  checkMirror(history, ledger, report);
  checkChanges(history, ledger, report);
  checkKeys(ledger, report);
  checkErased(pushes, ledger, report);
  checkEventTimes(history, ledger, report);
  const failovers = checkFailovers(pushes, ledger, report);

  const stream = readStream(ledger.events, history, report);
  checkEvents(history, stream, { isPending: pending.hasRecord, report });
  checkCompleted(history, stream, report);
  checkEventOrder(pushes, ledger, report);
  checkRecords(ledger, { history, stream, listed, isPending: pending.hasRecord, report });
  return { figures: figuresOf(history, { ...ledger, failovers }), tallies };
}

interface Known {
  history: History;
  stream: StreamFacts;
  listed: ReadonlyMap<string, Sighting>;
  isPending: (key: string) => boolean;
  report: Report;
}

function checkRecords(
  { pages, stored, faults }: Ledger,
  { history, stream, listed, isPending, report }: Known,
): void {
  const storedByKey = new Map<string, StoredLine>(
    stored.map((line) => [keyOf(line.integration, line.plural, line.externalId), line]),
  );
  const seen = seenByRecord(pages);
  for (const record of history.records.values()) {
    const sighting = listed.get(record.key);
    const document = storedByKey.get(record.key);
    const found = checkReads(record, { seen: seen.get(record.key) ?? [], final: sighting, faults }, report);
    if (!record.isPrivate) {
      if (sighting !== undefined) checkHotFields(record, document, sighting[1], report);
      continue;
    }
    const events = (stream.byRecord.get(record.key) ?? []).map(({ push, created, changed }) => ({
      push: push?.id,
      created,
      changed,
    }));
    const final = document === undefined ? undefined : worldOf(document.fields);
    // An overwritten record also has wrong events or fields; it counts as one violation.
    const reportOther: Report = (violation) => {
      if (violation.class !== found) report(violation);
    };
    checkPrivate(
      record,
      { events, final },
      { isPending: isPending(record.key), faults, report: reportOther },
    );
  }
  checkPolls(history, seen, completedPolls(pages), report);
}

/** Runs that recovery has not finished: their records may still change, and their changes be announced. */
function openPending(lines: readonly PendingLine[], listed: ReadonlyMap<string, Sighting>) {
  const runs = new Set(lines.map(({ syncId }) => syncId));
  const hashes = new Set(lines.flatMap((line) => line.hashes));
  const hasRecord = (key: string): boolean => hashes.has(listed.get(key)?.[2].split('_').at(-1) ?? '');
  return {
    hasRun: (syncId: string): boolean => runs.has(syncId),
    hasRecord,
    countOf: (listing: string): number =>
      [...listed.keys()].filter((key) => key.startsWith(`${listing}/`) && hasRecord(key)).length,
  };
}
