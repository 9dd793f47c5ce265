/** Waits; in unit tests by simulated time (simulated-time.ts). */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
