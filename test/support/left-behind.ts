// Pushes that a process left unfinished when it died, and when other replicas settle them.

/**
 * By this clock, the owner of every push under way is overdue, so a replica that has this clock takes the push over at
 * once.
 */
export const anHourAhead = (): number => Date.now() + 60 * 60 * 1_000;

/** After a crash, a sweeper has settled the history within this time: it looks every 5 to 6 s. */
export const settledWithinMs = 30_000;
