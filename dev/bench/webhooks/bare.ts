// The least cost of deliveries: the same bytes on the wire with both signatures, posted on kept-alive connections, a
// few at a time. No queue, no retry, nothing durable.
import { Pool } from 'undici';
import { makeEvents } from '../items.ts';
import { signedHeaders } from './signed-headers.ts';

interface Task {
  url: string;
  count: number;
  inFlight: number;
}

async function run({ url, count, inFlight }: Task): Promise<void> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: inFlight });
  const events = makeEvents('bench', count);
  const deliver = async (): Promise<void> => {
    for (let event = events.pop(); event !== undefined; event = events.pop()) {
      const { id, body } = event;
      const headers = signedHeaders(id, new Date().toISOString(), body);
      const response = await pool.request({ method: 'POST', path: pathname, headers, body });
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
