// A replica of a service that answers every question with its pid.
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';

const { NATS_URL: url = '' } = process.env;
const bus = await openBus({ url, name: 'answering', log: openLog({ service: 'test', level: 'silent' }) });
await bus.serve({
  service: 'catalog',
  version: '1.0.0',
  description: 'Answers with its pid',
  inFlightMax: 100,
  handlers: { 'svc.catalog.pid.ask': async () => ({ body: String(process.pid) }) },
});
process.stdout.write('{"msg":"serving"}\n');
