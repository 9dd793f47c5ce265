// Ports of each worker's own. An engine that a test keeps dead for a while comes back at its port, and fails where a file
// beside it has taken that meanwhile.
const first = 16_000;
const each = 2_000;
const workersMax = 8;

/** From 1; the worker that takes the place of another has its number. */
const number = Number(process.env['VITEST_POOL_ID'] ?? 1);
const lowest = first + each * ((number - 1) % workersMax);
process.env['LOCAL_PORTS'] = `${lowest}-${lowest + each - 1}`;
