// A stand-in for catalog, as a process of its own: gives every push the answer that the benchmark sent first.
import { once } from 'node:events';
import { subjects } from '@integration-sync/contracts';
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { itemsPerPush } from './items.ts';

const [url = ''] = process.argv.slice(2);
const bus = await openBus({ url, name: 'catalog', log: openLog({ service: 'bench', level: 'warn' }) });
process.on('disconnect', () => process.exit());
process.send?.('ready');

const [{ body }] = await once(process, 'message');
const syncId = 'sync_bench';
const reply = {
  headers: { 'x-sync-id': syncId },
  body,
  logFields: { syncId, items: itemsPerPush, created: itemsPerPush },
};
await bus.serve({
  service: 'catalog',
  version: '1.0.0',
  description: 'Gives always the same answer',
  inFlightMax: 100,
  handlers: {
    async [subjects.suppliersPush](request) {
      // Catalog asks the same before it writes.
      if (performance.now() > request.waitedForUntilMs) await request.isWaitedFor();
      return reply;
    },
  },
});
process.send?.('serving');
