// npm run bench:webhooks [-- throughput hanging fanout replicas]: how fast deliveries are, beside a bare loop and
// beside BullMQ on Redis, and whether somebody else's dead endpoints cost a healthy one anything. Everything runs
// on this machine, on engines of its own, and leaves nothing behind. Redis must be on PATH (Debian: redis-server).
import { openHouse } from './webhooks/house.ts';
import { benchThroughput } from './webhooks/throughput.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const wanted = new Set(process.argv.slice(2));
const wants = (name: string): boolean => wanted.size === 0 || wanted.has(name);

if (wants('throughput')) {
  await using house = await openHouse(say);
  await benchThroughput(house, say);
}
