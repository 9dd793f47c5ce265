// Deliveries by BullMQ, to compare with: a queue in Redis, a worker that computes both signatures and sends the request, four attempts
// on the schedule of webhooks, the last 1,000 completed jobs kept as a log.
import { Worker, type Job } from 'bullmq';
import { Pool } from 'undici';
import { signedHeaders } from './signed-headers.ts';

interface Data {
  url: string;
  eventId: string;
  timestamp: string;
  body: string;
}

const delaysMs = [1_000, 5_000, 30_000];
const pools = new Map<string, Pool>();

function poolOf(origin: string): Pool {
  const pool = pools.get(origin) ?? new Pool(origin);
  pools.set(origin, pool);
  return pool;
}

async function deliver({ data }: Job<Data>): Promise<number> {
  const { origin, pathname } = new URL(data.url);
  const response = await poolOf(origin).request({
    method: 'POST',
    path: pathname,
    headers: signedHeaders(data.eventId, data.timestamp, data.body),
    body: data.body,
    signal: AbortSignal.timeout(10_000),
  });
  await response.body.dump();
  if (response.statusCode < 200 || response.statusCode > 299)
    throw new Error(`the receiver answered ${response.statusCode}`);
  return response.statusCode;
}

const port = Number(process.argv[2]);
const concurrency = Number(process.argv[3]);
const worker = new Worker<Data>('deliveries', deliver, {
  connection: { host: '127.0.0.1', port, maxRetriesPerRequest: null },
  concurrency,
  removeOnComplete: { count: 1_000 },
  removeOnFail: { count: 1_000 },
  settings: { backoffStrategy: (attempts) => delaysMs[attempts - 1] ?? 30_000 },
});
worker.on('error', (error) => void process.stderr.write(`${error.message}\n`));
await worker.waitUntilReady();
process.on('disconnect', () => process.exit());
process.send?.('ready');
