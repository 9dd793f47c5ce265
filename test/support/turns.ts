// Turns of the event loop, for tests of code that yields.

/** Counts the turns of the event loop until `stop`. */
export function countTurns(): { readonly count: number; stop(): void } {
  let count = 0;
  let next = setImmediate(turn);
  function turn(): void {
    count += 1;
    next = setImmediate(turn);
  }
  return {
    get count() {
      return count;
    },
    stop: () => clearImmediate(next),
  };
}
