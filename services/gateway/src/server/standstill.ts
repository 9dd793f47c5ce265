// Whether this process was frozen until a moment ago, because it was stopped, swapped out, or asleep with its machine. Bytes that
// clients sent meanwhile wait unread on the sockets.

export type Standstill = ReturnType<typeof watchStandstill>;

const lookEveryMs = 500;
const standstillMs = 1_000;
const justMs = 1_000;

export function watchStandstill() {
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
    get isJustOver(): boolean {
      // Reads the clock here too, because after a standstill the caller may run before the timer.
      look();
      return lookedAt - overAt < justMs;
    },
    [Symbol.dispose]: (): void => clearInterval(watch),
  };
}
