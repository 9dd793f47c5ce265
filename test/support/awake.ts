// A clock for bounds in tests that goes on only while this process gets the processor. On a busy machine, the time for
// which the process waits for its turn does not make a test fail.
const stepMs = 20;
const stepMsMax = 40;

let awakeMs = 0;
let last = performance.now();

function add(): void {
  const now = performance.now();
  awakeMs += Math.min(now - last, stepMsMax);
  last = now;
}
setInterval(add, stepMs).unref();

/** Milliseconds for which this process has run since the module was loaded. */
export const awake = (): number => {
  add();
  return awakeMs;
};
