// Counts how often the event loop turns, for a test of code that yields.
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
