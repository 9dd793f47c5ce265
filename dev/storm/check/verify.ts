// Checks a storm by its ledger alone, so that the check can be repeated long after the stack is gone.
import { readWhole } from '../ledger.ts';
import type { Ledger } from '../lines.ts';
import { readPlan } from '../plan.ts';
import { checkAnswers, checkReferences, checkStatuses } from './answers.ts';
import { checkAttempts } from './attempts.ts';
import { checkChanges, checkDrills } from './changes.ts';
import { checkDeliveries, checkDescribed, checkInFlight } from './deliveries.ts';
import { checkDrafts } from './drafts.ts';
import { checkEventOrder, checkEventTimes } from './event-order.ts';
import { checkCompleted, checkErased, checkEvents, checkTwice } from './events.ts';
import { checkOverdue } from './expectations.ts';
import { readFacts, type Check } from './facts.ts';
import { checkAway, checkLate, checkRolls } from './failovers.ts';
import { checkFeed } from './feed.ts';
import { worldOf } from './fields.ts';
import { figuresOf, type Figures } from './figures.ts';
import { checkFloor, checkMemory } from './floor.ts';
import { checkKeys } from './keys.ts';
import { checkHotFields, checkIdentities, checkListings } from './listings.ts';
import { checkPrivate } from './private.ts';
import { keyOf, listingOf } from './push.ts';
import { checkMirror, checkPolls, checkReads, completedPolls, seenByRecord } from './reads.ts';
import { checkRepeats } from './repeats.ts';
import { checkOtherRuns, checkRightAfter, checkRuns } from './runs.ts';
import { openTally, type Report, type Tally, type ViolationClass } from './violations.ts';

export interface Verdict {
  figures: Figures;
  tallies: ReadonlyMap<ViolationClass, Tally>;
}

export async function verify(folder: string): Promise<Verdict> {
  const { rules, seconds } = readPlan(folder);
  return judge({ within: rules.within, floor: rules.floor, seconds, ...(await readWhole(folder)) });
}

const checkNotes: Check = ({ notes }, report) => {
  for (const { note, isViolation } of notes) if (isViolation) report('storm', note);
};

const checks: readonly Check[] = [
  [checkNotes, checkAnswers, checkStatuses, checkReferences, checkMemory, checkFloor],
  [checkListings, checkIdentities, checkDrafts, checkErased, checkRecords],
  [checkRuns, checkOtherRuns, checkRightAfter],
  [checkTwice, checkEvents, checkCompleted, checkEventOrder, checkEventTimes, checkOverdue],
  [checkDeliveries, checkDescribed, checkRepeats, checkInFlight, checkAttempts],
  [checkFeed, checkMirror, checkChanges, checkDrills, checkKeys],
  [checkRolls, checkAway, checkLate],
].flat();

export function judge(ledger: Ledger): Verdict {
  const { report, tallies } = openTally();
  const facts = readFacts(ledger);
  for (const check of checks) check(facts, report);
  return { figures: figuresOf(facts), tallies };
}

function checkRecords(...[facts, report]: Parameters<Check>): void {
  const { pages, stored, faults, records, sightings, byRecord, isPending } = facts;
  const storedByKey = new Map(
    stored.map((line) => [keyOf(line.integration, line.plural, line.externalId), line]),
  );
  const seenBy = seenByRecord(pages);
  const polls = completedPolls(pages);
  for (const record of records.values()) {
    const { key } = record;
    const [final, document, seen] = [sightings.get(key), storedByKey.get(key), seenBy.get(key) ?? []];
    const found = checkReads(record, { seen, final, faults }, report);
    checkPolls(record, seen, polls.get(listingOf(record)) ?? [], report);
    if (!record.isPrivate) {
      if (final !== undefined) checkHotFields(record, document, final[1], report);
      continue;
    }
    const events = (byRecord.get(key) ?? []).map(({ push, created, changed }) => ({
      push: push?.id,
      created,
      changed,
    }));
    // An overwritten record also has wrong events or fields; it counts as one violation.
    const reportOther: Report = (of, ...violation) => void (of !== found && report(of, ...violation));
    const world = document && worldOf(document.fields);
    const circumstances = { isPending: isPending(key), faults, report: reportOther };
    checkPrivate(record, { events, final: world }, circumstances);
  }
}
