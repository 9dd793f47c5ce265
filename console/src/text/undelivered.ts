// Which events were never delivered to a webhook, as far as its attempt log tells. Pure.
//
//   the newest attempt of an event    what becomes of the event
//   ────────────────────────────────  ───────────────────────────────────────────────────────────
//   succeeded                         delivered
//   failed, another one is due        open
//   failed, the fourth                given up: a replay sends it from a time before the event
//   failed, no other one is due       missed: a replay sends it from the time of the disabling
import type { Problem } from '../api/problem.ts';
import type { DeliveryAttempt } from '../api/shapes.ts';
import { timeBefore, timeIn } from './box.ts';

/** A page of a webhook's attempt log, newest attempt first. */
export interface LogPage {
  attempts: readonly DeliveryAttempt[];
  /** Whether the log has older attempts of this outcome. */
  isCut: boolean;
}

export interface Undelivered {
  /** The newest attempt of each event that was never delivered, newest first. */
  attempts: DeliveryAttempt[];
  /** The pages of failed and of successful attempts are complete from this time on; undefined if they are the whole log. */
  from: string | undefined;
  /** The events that were given up, also before `from`: a replay that sends a delivered event again does no harm. */
  givenUp: DeliveryAttempt[];
}

const attemptsMax = 4;
const testKind = 'webhook.test';

/** An event that failed and was then delivered is on the page `succeeded`, unless that page begins later. */
export function undeliveredIn(failed: LogPage, succeeded: LogPage): Undelivered {
  const from = [failed, succeeded]
    .map(({ attempts, isCut }) => (isCut ? attempts.at(-1)?.at : undefined))
    .filter((at) => at !== undefined)
    .toSorted()
    .at(-1);
  const told = new Set(succeeded.attempts.map(({ eventId }) => eventId));
  const newest = failed.attempts.filter(({ eventId, event }) => {
    if (told.has(eventId) || event === testKind) return false;
    told.add(eventId);
    return true;
  });
  return {
    attempts: newest.filter(({ at }) => from === undefined || at >= from),
    from,
    givenUp: newest.filter(isGivenUp),
  };
}

export const isGivenUp = ({ outcome, attempt, nextAttemptAt }: DeliveryAttempt): boolean =>
  outcome === 'failed' && nextAttemptAt === null && attempt >= attemptsMax;

/** What the table says in place of the time of the next attempt. */
export function endOf(attempt: DeliveryAttempt): string {
  if (attempt.outcome === 'succeeded' || attempt.event === testKind) return '';
  return isGivenUp(attempt) ? 'given up' : 'none: disabled';
}

/** What the dialog of a replay proposes for the events that were given up. */
export interface Replayable {
  /** The time after which `count` of the given-up events occurred. */
  since: string | undefined;
  count: number;
  /** How many events no push has caused, such as `webhook.disabled`: their ids tell no time, and they may be much older than their attempts. */
  undated: number;
  /** The time from which all attempts were read; undefined if the whole log was read. */
  from: string | undefined;
}

/** Undefined while the log is not read yet: a request that failed for a passing problem is sent again. */
export function replayableIn(
  answer: Undelivered | undefined,
  problem: Pick<Problem, 'passes'> | undefined,
): Replayable | undefined {
  if (answer === undefined && (problem === undefined || problem.passes)) return undefined;
  const { givenUp, from } = answer ?? { givenUp: [], from: undefined };
  const ids = givenUp.map(({ eventId }) => eventId);
  const count = ids.filter((id) => timeIn(id) !== undefined).length;
  return { since: timeBefore(ids), count, undated: ids.length - count, from };
}
