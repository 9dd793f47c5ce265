// A replica of a service that answers every question with its pid. Run by node as `answering.ts NATS_URL`.
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';

const [url] = process.argv.slice(2);
if (url === undefined) throw new TypeError('usage: answering.ts NATS_URL');
const bus = await openBus({ url, name: 'answering', log: openLog({ service: 'test', level: 'silent' }) });
await bus.serve({
  service: 'catalog',
  version: '1.0.0',
  description: 'Answers with its pid',
  inFlightMax: 100,
  handlers: { 'svc.catalog.pid.ask': async () => ({ body: String(process.pid) }) },
});
process.stdout.write('serving\n');
