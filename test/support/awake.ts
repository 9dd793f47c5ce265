// Time by which a test says that something came soon enough: it goes on only while this process runs, so that
// nothing is late because the machine made the process wait for its turn.
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
