// The plainest possible gateway, to compare with: passes a push from HTTP to NATS, and the answer back. No token, no
// checks, no log. Sends its address to the benchmark.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { subjects } from '@integration-sync/contracts';
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';

const [url = ''] = process.argv.slice(2);
const bus = await openBus({ url, name: 'bare-proxy', log: openLog({ service: 'bench', level: 'warn' }) });
process.on('disconnect', () => process.exit());

const headers = { integration: 'bench', 'request-id': 'bench' };

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  const answer = await bus.request(subjects.suppliersPush, { headers, body, timeoutMs: 10_000 });
  response.end(answer.body);
}

const server = createServer((request, response) => void pass(request, response));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.(`http://127.0.0.1:${address.port}`);
});
