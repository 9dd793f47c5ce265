// This process stands still for a while, as one that swaps or is paused: nothing in it runs. It waits and computes
// nothing, so that the tests beside it have the processor.
const neverChanged = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export const standStill = (forMs: number): void => void Atomics.wait(neverChanged, 0, 0, forMs);
