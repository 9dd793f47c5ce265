// Pushes that a process left behind when it died, and when others settle them.

/**
 * By this clock, every push under way is left behind: a replica that has this clock takes the push over at
 * once.
 */
export const anHourAhead = (): number => Date.now() + 60 * 60 * 1_000;

/** After a crash, a sweeper has settled the history within this time: it looks every 5 to 6 s. */
export const settledWithinMs = 30_000;
