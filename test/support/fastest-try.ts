// Measures how long code takes: the fastest of several tries shows the code alone, slower ones also other work of the
// machine.
/** The milliseconds of the fastest try; rejects if a try fails. */
export async function fastestMs(tries: number, work: () => Promise<unknown>): Promise<number> {
  const tookMs: number[] = [];
  for (let count = 0; count < tries; count += 1) {
    const beganMs = performance.now();
    await work();
    tookMs.push(performance.now() - beganMs);
  }
  return Math.min(...tookMs);
}
