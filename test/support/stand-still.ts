// Blocks this process for a while, as if the machine swaps or pauses it: none of its code runs. It uses no processor
// time, so that the tests beside it have the processor.
const neverChanged = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export const standStill = (forMs: number): void => void Atomics.wait(neverChanged, 0, 0, forMs);
