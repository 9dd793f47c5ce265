// Which events a webhook never got, as far as its attempt log tells. Pure.
//
//   the newest attempt of an event    what becomes of the event
//   ────────────────────────────────  ───────────────────────────────────────────────────────────
//   succeeded                         delivered
//   failed, another one is due        open
//   failed, the fourth                given up: a replay sends it from a time before the event
//   failed, no other one is due       missed: a replay sends it from the time of the disabling
import type { DeliveryAttempt } from '../api/shapes.ts';
import { timeIn } from './box.ts';

/** A page of the log, newest first. */
export interface LogPage {
  attempts: readonly DeliveryAttempt[];
  /** Whether the log has older attempts of this outcome. */
  isCut: boolean;
}

export interface Undelivered {
  /** The newest attempt of each event that was never delivered, newest first. */
  attempts: DeliveryAttempt[];
  /** From when on both pages have all attempts; undefined where they have the whole log. */
  from: string | undefined;
}

const attemptsMax = 4;
const testKind = 'webhook.test';

/** An event that was delivered after it had failed is in the other page, unless that page begins later. */
export function undeliveredIn(failed: LogPage, succeeded: LogPage): Undelivered {
  const from = [failed, succeeded]
    .map(({ attempts, isCut }) => (isCut ? attempts.at(-1)?.at : undefined))
    .filter((at) => at !== undefined)
    .toSorted()
    .at(-1);
  const told = new Set(succeeded.attempts.map(({ eventId }) => eventId));
  const attempts = failed.attempts.filter(({ eventId, event, at }) => {
    if (told.has(eventId) || event === testKind || (from !== undefined && at < from)) return false;
    told.add(eventId);
    return true;
  });
  return { attempts, from };
}

export const isGivenUp = ({ outcome, attempt, nextAttemptAt }: DeliveryAttempt): boolean =>
  outcome === 'failed' && nextAttemptAt === null && attempt >= attemptsMax;

/** What the table says in place of the time of the next attempt. */
export function endOf(attempt: DeliveryAttempt): string {
  if (attempt.outcome === 'succeeded' || attempt.event === testKind) return '';
  return isGivenUp(attempt) ? 'given up' : 'none: disabled';
}

/**
 * The time after which all these events occurred. A replay compares the times of events, which are before their first attempts;
 * the id of a push's event has the time at which the push began.
 */
export function startOf(attempts: readonly DeliveryAttempt[]): string | undefined {
  const times = attempts.map(({ eventId, at }) => (timeIn(eventId) ?? Date.parse(at)) - 1);
  return times.length === 0 ? undefined : new Date(Math.min(...times)).toISOString();
}
