// A service that stops for ever at one stage of a push, so that it can be killed exactly there.
//
//   node mortal.ts catalog|batches STAGE      settings from the environment; says `serving`, then `reached`
import { startBatches } from '@integration-sync/batches';
import { BatchesConfig } from '@integration-sync/batches/config';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';

const [service, wanted] = process.argv.slice(2);

const onStage = async (stage: string): Promise<void> => {
  if (stage !== wanted) return;
  process.stdout.write('reached\n');
  await new Promise(() => {});
};

if (service === 'catalog') await startCatalog(readConfig(CatalogConfig, process.env), { onStage });
else await startBatches(readConfig(BatchesConfig, process.env), { onStage });
process.stdout.write('serving\n');
