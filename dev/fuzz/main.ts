// npm run fuzz [-- --requests 10000 --seed 7 --examples 100 --seconds 80 --only own|schemathesis|bodies|pipelining]: odd requests
// against a whole stack of its own, in a temporary folder. The stack may not answer a request with 5xx, hang, or give an answer
// that the description lacks; its memory must not grow. Costly bodies and pipelined requests may cost their sender's neighbour
// nothing. Exit code 1 otherwise.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startStack, type Stack } from '../stack/index.ts';
import { residentMb } from '../process/memory.ts';
import { sendHostileBodies } from './bodies.ts';
import { sendPipelined } from './pipelining.ts';
import { runSchemathesis } from './schemathesis.ts';
import { sendOddRequests } from './volley.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    examples: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '80' },
    only: { type: 'string' },
  },
});
const seed = Number(values.seed);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** How much the gateway's memory may grow after the first requests, which bring the process to its usual size. */
const growthMbMax = 48;
const warmUpShare = 1.2;

async function sendVolleys(stack: Stack): Promise<string[]> {
  const requests = Number(values.requests);
  const gateways = (): number[] => stack.pids()['gateway'] ?? [];
  const warmUp = await sendOddRequests(stack, {
    requests: Math.ceil(requests * warmUpShare),
    seed: seed + 1,
    say,
  });
  const beforeMb = residentMb(gateways());
  const { statuses, faults } = await sendOddRequests(stack, { requests, seed, say });
  const growthMb = residentMb(gateways()) - beforeMb;
  const counts = [...statuses]
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([status, count]) => `${count} × ${status}`);
  say(`${requests} odd requests: ${counts.join(', ')}`);
  say(`the gateway holds ${beforeMb.toFixed(0)} MB, and ${growthMb.toFixed(0)} MB more afterwards`);
  const growth = growthMb > growthMbMax ? [`memory grew by ${growthMb.toFixed(0)} MB`] : [];
  return [...warmUp.faults, ...faults, ...growth];
}

await using ending = new AsyncDisposableStack();
const folder = ending.adopt(await mkdtemp(join(tmpdir(), 'integration-sync-fuzz-')), (path) =>
  rm(path, { recursive: true, force: true }),
);
const environment = { ...process.env, GATEWAY_PORT: '0' };
const stack = ending.use(await startStack({ folder, temporary: true, environment, say }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stack.abandon();
    process.exit(1);
  });
}
say(`seed ${seed}`);
const pressure = { seed, seconds: Number(values.seconds), say };
const kinds: Readonly<Record<string, () => Promise<string[]>>> = {
  own: () => sendVolleys(stack),
  schemathesis: () => runSchemathesis(stack, { folder, seed, examples: Number(values.examples), say }),
  pipelining: () => sendPipelined(stack, pressure),
  bodies: () => sendHostileBodies(stack, pressure),
};
const faults: string[] = [];
for (const [kind, run] of Object.entries(kinds)) {
  if (values.only === undefined || values.only === kind) faults.push(...(await run()));
}
for (const fault of faults) say(`FAULT ${fault}`);
say(faults.length === 0 ? 'no faults' : `${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
