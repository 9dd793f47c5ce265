// npm run bench:webhooks [-- throughput hanging fanout burst replicas partitions many]: the rate of deliveries, beside
// bare loops and BullMQ on Redis, and what dead endpoints cost a healthy one. Everything runs on this machine, on
// engines of its own, and leaves nothing behind. redis-server must be on PATH (Debian: redis-server).
import { parseWebhooksBenchOptions, webhooksUsage, type WebhooksBench } from './options.ts';
import { runAsCommand, say } from './run.ts';
import { benchBurst } from './webhooks/burst.ts';
import { openHouse, type House } from './webhooks/house.ts';
import { benchMany } from './webhooks/many.ts';
import { benchFanout, benchHanging } from './webhooks/neighbours.ts';
import { benchPartitions } from './webhooks/partitions.ts';
import { benchReplicas } from './webhooks/replicas.ts';
import { benchThroughput } from './webhooks/throughput.ts';

type Bench = (house: House, say: (line: string) => void) => Promise<void>;

const runs: Readonly<Record<WebhooksBench, Bench>> = {
  throughput: benchThroughput,
  hanging: benchHanging,
  fanout: benchFanout,
  burst: benchBurst,
  replicas: benchReplicas,
  partitions: benchPartitions,
  many: benchMany,
};

await runAsCommand(webhooksUsage, async (start) => {
  const { names, engines, help } = parseWebhooksBenchOptions(process.argv.slice(2));
  if (help) {
    say(webhooksUsage);
    return;
  }
  for (const name of names) {
    say(`\n${name}`);
    // Each benchmark has engines of its own, so that it does not find the data of another.
    await using house = await start((signal) => openHouse({ say, engines, signal }));
    await runs[name](house, say);
  }
});
