// Waiting for what will be so, with a bound and without guessing how long it takes.
/** Waits until `reads` gives what is asked for, or says what it gave last. */
export async function eventually<T>(
  reads: () => T | Promise<T>,
  holds: (value: T) => boolean,
  limitMs = 10_000,
): Promise<T> {
  const endsAt = Date.now() + limitMs;
  for (;;) {
    const value = await reads();
    if (holds(value)) return value;
    if (Date.now() > endsAt) throw new Error(`still ${JSON.stringify(value)} after ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
