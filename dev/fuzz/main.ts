// npm run fuzz [-- --seed 7 --examples 50 --only odd|schemathesis|pipelining]: odd requests against a whole stack of its
// own, in a temporary folder. The stack must answer each without 5xx and as the OpenAPI document describes; its memory must
// stay flat. Pipelined requests must not slow the pushes of another integration. Exit code 1 otherwise.
import { parseArgs } from 'node:util';
import { temporaryFolder } from '../bench/temporary.ts';
import { startStack, type Stack } from '../stack/index.ts';
import { residentMb } from '../process/memory.ts';
import { sendOddRequests } from './odd-requests.ts';
import { sendPipelined } from './pipelining.ts';
import { runSchemathesis } from './schemathesis.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    examples: { type: 'string', default: '50' },
    only: { type: 'string' },
  },
});
const seed = Number(values.seed);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The first volley brings the gateway's memory to its usual size. Further volleys may let it grow by this much. */
const growthMbMax = 48;
const furtherVolleys = 3;

async function sendVolleys(stack: Stack): Promise<string[]> {
  const gatewayMb = (): number => residentMb(stack.pids()['gateway'] ?? []);
  const faults = await sendOddRequests(stack, say);
  const heldMb = [gatewayMb()];
  for (let volley = 0; volley < furtherVolleys; volley += 1) {
    faults.push(...(await sendOddRequests(stack, say)));
    heldMb.push(gatewayMb());
  }
  say(`after each volley the gateway holds ${heldMb.map((mb) => mb.toFixed(0)).join(', ')} MB`);
  const [firstMb = 0, ...laterMb] = heldMb;
  const growthMb = Math.min(...laterMb) - firstMb;
  return growthMb > growthMbMax ? [...faults, `memory grew by ${growthMb.toFixed(0)} MB`] : faults;
}

await using ending = new AsyncDisposableStack();
const { folder } = ending.use(await temporaryFolder());
const environment = { ...process.env, GATEWAY_PORT: '0', CONSOLE: 'off' };
const stack = ending.use(await startStack({ folder, temporary: true, environment, say }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stack.abandon();
    process.exit(1);
  });
}
const kinds: Readonly<Record<string, () => Promise<string[]>>> = {
  odd: () => sendVolleys(stack),
  schemathesis: () => runSchemathesis(stack, { folder, seed, examples: Number(values.examples), say }),
  pipelining: () => sendPipelined(stack, say),
};
const faults: string[] = [];
for (const [kind, run] of Object.entries(kinds))
  if (values.only === undefined || values.only === kind) faults.push(...(await run()));
for (const fault of faults) say(`FAULT ${fault}`);
say(faults.length === 0 ? 'no faults' : `${faults.length} faults (seed ${seed})`);
process.exitCode = faults.length === 0 ? 0 : 1;
