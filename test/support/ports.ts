// Gives each worker of vitest a range of ports. An engine that a test keeps dead for a while comes back on its port,
// which no other test file may have taken meanwhile.
const first = 16_000;
const each = 2_000;
const workersMax = 8;

/** vitest numbers its workers from 1; a worker that replaces another one has the same number. */
const number = Number(process.env['VITEST_POOL_ID'] ?? 1);
const lowest = first + each * ((number - 1) % workersMax);
process.env['LOCAL_PORTS'] = `${lowest}-${lowest + each - 1}`;
