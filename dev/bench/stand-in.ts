// In catalog's place, as a process of its own: gives every push the answer that it was told first.
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { itemsPerPush } from './items.ts';

const [url = ''] = process.argv.slice(2);
const bus = await openBus({ url, name: 'catalog', log: openLog({ service: 'bench', level: 'warn' }) });

process.once('message', ({ body }: { body: string }) => {
  const syncId = 'sync_bench';
  const reply = {
    headers: { 'x-sync-id': syncId },
    body,
    logFields: { syncId, items: itemsPerPush, created: itemsPerPush },
  };
  const pushed = 'svc.catalog.suppliers.push';
  bus
    .serve({
      service: 'catalog',
      version: '1.0.0',
      description: 'Gives always the same answer',
      inFlightMax: 100,
      quiet: [pushed],
      handlers: { [pushed]: () => Promise.resolve(reply) },
    })
    .then(
      () => process.send?.('serving'),
      (error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        process.exit(1);
      },
    );
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
