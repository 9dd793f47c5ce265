// Whether something comes at once: of several tries the fastest says what the code takes, and the others also what the
// machine had to do meanwhile.
/** Milliseconds; each try must succeed. */
export async function fastestMs(tries: number, work: () => Promise<unknown>): Promise<number> {
  const tookMs: number[] = [];
  for (let count = 0; count < tries; count += 1) {
    const beganMs = performance.now();
    await work();
    tookMs.push(performance.now() - beganMs);
  }
  return Math.min(...tookMs);
}
