// A service that stops at one stage of its first push, so that a test can kill or freeze it exactly there.
//
//   node stopping-service.ts catalog|batches STAGE      settings from the environment; says `serving`, then `reached`
//
// It goes on at a line on its standard input, and stops cleanly when that ends.
import { once } from 'node:events';
import { startBatches } from '@integration-sync/batches';
import { BatchesConfig } from '@integration-sync/batches/config';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';

const [service, wanted] = process.argv.slice(2);

let isReached = false;
const onStage = async (stage: string): Promise<void> => {
  if (stage !== wanted || isReached) return;
  isReached = true;
  process.stdout.write('reached\n');
  await once(process.stdin, 'data');
};

const running =
  service === 'catalog'
    ? await startCatalog(readConfig(CatalogConfig, process.env), { onStage })
    : await startBatches(readConfig(BatchesConfig, process.env), { onStage });
process.stdin.on('end', () => void running[Symbol.asyncDispose]().then(() => process.exit(0)));
process.stdin.resume();
process.stdout.write('serving\n');
