// npm run bench:webhooks [-- throughput hanging fanout burst replicas partitions many]: how fast deliveries are, beside bare loops and
// beside BullMQ on Redis, and whether dead endpoints cost a healthy one anything. Everything runs on this machine, on
// engines of its own, and leaves nothing behind. Redis must be on PATH (Debian: redis-server).
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
    // Each on engines of its own, so that none finds what another left.
    await using house = await start((signal) => openHouse({ say, engines, signal }));
    await runs[name](house, say);
  }
});
