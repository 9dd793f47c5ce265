// npm run bench:webhooks [-- throughput hanging fanout burst replicas]: how fast deliveries are, beside a bare loop and
// beside BullMQ on Redis, and whether somebody else's dead endpoints cost a healthy one anything. Everything runs
// on this machine, on engines of its own, and leaves nothing behind. Redis must be on PATH (Debian: redis-server).
import { benchBurst } from './webhooks/burst.ts';
import { openHouse, type House } from './webhooks/house.ts';
import { benchFanout, benchHanging } from './webhooks/neighbours.ts';
import { benchReplicas } from './webhooks/replicas.ts';
import { benchThroughput } from './webhooks/throughput.ts';

type Bench = (house: House, say: (line: string) => void) => Promise<void>;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const benches = new Map<string, Bench>([
  ['throughput', benchThroughput],
  ['hanging', benchHanging],
  ['fanout', benchFanout],
  ['burst', benchBurst],
  ['replicas', benchReplicas],
]);
const wanted = new Set(process.argv.slice(2));

for (const [name, bench] of benches) {
  if (wanted.size > 0 && !wanted.has(name)) continue;
  say(name);
  // Each on engines of its own, so that none finds what another left.
  await using house = await openHouse(() => undefined);
  await bench(house, say);
}
