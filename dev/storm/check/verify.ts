// Checks a storm by its ledger alone, so that the check can be repeated long after the stack is gone.
import { readWhole } from '../ledger.ts';
import type { Ledger } from '../lines.ts';
import { readPlan } from '../plan.ts';
import { checkAnswers, checkReferences, checkStatuses } from './answers.ts';
import { checkAttempts } from './attempts.ts';
import { checkChanges, checkDrills } from './changes.ts';
import { checkDeliveries, checkDescribed, checkInFlight } from './deliveries.ts';
import { checkDrafts } from './drafts.ts';
import { checkCompleted, checkErased, checkEvents, checkEventOrder, checkEventTimes } from './events.ts';
import { checkOverdue } from './expectations.ts';
import { readFacts, type Check } from './facts.ts';
import { checkAway, checkLate, checkRolls } from './failovers.ts';
import { checkFeed } from './feed.ts';
import { figuresOf } from './figures.ts';
import { checkFloor, checkMemory } from './floor.ts';
import { checkKeys } from './keys.ts';
import { checkHotFields, checkIdentities, checkListings } from './listings.ts';
import { checkPrivate } from './private.ts';
import { checkMirror, checkPolls, checkReads } from './reads.ts';
import { checkRepeats } from './repeats.ts';
import { checkOtherRuns, checkRightAfter, checkRuns } from './runs.ts';
import { openTally, type Report } from './violations.ts';

export type Verdict = ReturnType<typeof judge>;

export async function verify(folder: string): Promise<Verdict> {
  const { rules, seconds } = readPlan(folder);
  return judge({ within: rules.within, floor: rules.floor, seconds, ...(await readWhole(folder)) });
}

const checkNotes: Check = ({ notes }, report) => {
  for (const { note } of notes) report('storm', note);
};

const checks: readonly Check[] = [
  [checkNotes, checkAnswers, checkStatuses, checkReferences, checkMemory, checkFloor],
  [checkListings, checkIdentities, checkDrafts, checkErased, checkRecords],
  [checkRuns, checkOtherRuns, checkRightAfter],
  [checkEvents, checkCompleted, checkEventOrder, checkEventTimes, checkOverdue],
  [checkDeliveries, checkDescribed, checkRepeats, checkInFlight, checkAttempts],
  [checkFeed, checkMirror, checkChanges, checkDrills, checkKeys],
  [checkRolls, checkAway, checkLate],
].flat();

export function judge(ledger: Ledger) {
  const { report, tallies } = openTally();
  const facts = readFacts(ledger);
  for (const check of checks) check(facts, report);
  return { figures: figuresOf(facts), tallies };
}

function checkRecords(...[facts, report]: Parameters<Check>): void {
  for (const record of facts.records.values()) {
    const found = checkReads(record, facts, report);
    checkPolls(record, facts, report);
    // An overwritten record also has wrong events or fields; it counts as one violation.
    const reportOther: Report = (of, ...violation) => void (of !== found && report(of, ...violation));
    if (record.isPrivate) checkPrivate(record, facts, reportOther);
    else checkHotFields(record, facts, report);
  }
}
