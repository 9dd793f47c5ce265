// The least cost of deliveries: the same bytes on the wire with both signatures, posted on kept-alive connections, a
// few at a time. No queue, no retry, nothing durable.
import { Pool } from 'undici';
import { signedHeaders } from './signed-headers.ts';

interface Task {
  url: string;
  count: number;
  inFlight: number;
}

async function run({ url, count, inFlight }: Task): Promise<void> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: inFlight });
  let next = 0;
  const deliver = async (): Promise<void> => {
    while (next < count) {
      const n = next++;
      const timestamp = new Date().toISOString();
      const body = JSON.stringify({
        event: 'supplier.created',
        timestamp,
        integrationId: 'bench',
        data: { externalId: `SUP-${n}`, internalId: 'sup_3f1c0a52b7d94e6f8a21c5d07e9b4413' },
      });
      const response = await pool.request({
        method: 'POST',
        path: pathname,
        headers: signedHeaders(`bare-${n}`, timestamp, body),
        body,
      });
      await response.body.dump();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, deliver));
  await pool.close();
}

process.on('message', (task: Task) => {
  run(task).then(
    () => process.send?.('done'),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
