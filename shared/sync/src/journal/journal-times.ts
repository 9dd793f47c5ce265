// How long a journal entry belongs to its owner, is watched, and is kept.
import { limits } from '@integration-sync/contracts';

/** How long an entry belongs to its owner; afterwards another replica may take the entry over. */
export const ownedMs = 15_000;

/** How long an entry is watched: until no write can arrive. After a minute of silence the driver sends a write again. */
export const watchMs = 150_000;

/** A time so far ahead is of a replica whose clock was wrong. */
export const dueWithinMs = 2 * 60 * 60 * 1_000;

const keptMs = limits.runsKeptDays * 24 * 60 * 60 * 1_000;

export const dueAfter = (at: Date): Date => new Date(at.getTime() + ownedMs);

/** An entry that could not be settled is due again after a sixteenth of its age: soon, while a cluster elects a leader. */
export const againLeastMs = 1_000;
const againShare = 1 / 16;

export function dueAgainAfter(startedAt: Date, at: Date): Date {
  const ageMs = at.getTime() - startedAt.getTime();
  return new Date(at.getTime() + Math.min(Math.max(ageMs * againShare, againLeastMs), ownedMs));
}

export const lookAfter = (at: Date): Date => new Date(at.getTime() + watchMs);

export const expiryAfter = (at: Date): Date => new Date(at.getTime() + keptMs);
