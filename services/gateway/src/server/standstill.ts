// Whether this process stood still until a moment ago: it was stopped, swapped out, or slept with its machine. What clients
// sent meanwhile is there, and not read yet.

export interface Standstill extends Disposable {
  readonly isJustOver: boolean;
}

const lookEveryMs = 500;
const standstillMs = 1_000;
const justMs = 1_000;

export function watchStandstill(): Standstill {
  let lookedAt = performance.now();
  let overAt = -Infinity;
  const look = (): void => {
    const before = lookedAt;
    lookedAt = performance.now();
    if (lookedAt - before > standstillMs) overAt = lookedAt;
  };
  const watch = setInterval(look, lookEveryMs);
  watch.unref();
  return {
    get isJustOver() {
      // Whoever asks may have its turn before the watch has.
      look();
      return lookedAt - overAt < justMs;
    },
    [Symbol.dispose]: () => clearInterval(watch),
  };
}
