// A catalog or batches whose pushes stop for ever, each at the stage named last, so that one SIGKILL cuts off
// several of them.
//
//   node halting.ts catalog|batches      settings from the environment
//
// It says `serving`. It reads a stage a line and repeats it; and it says `reached` where a push stops.
import { createInterface } from 'node:readline';
import { startBatches } from '@integration-sync/batches';
import { BatchesConfig } from '@integration-sync/batches/config';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

let wanted = '';
const onStage = async (stage: string): Promise<void> => {
  if (stage !== wanted) return;
  say('reached');
  await new Promise(() => undefined);
};

if (process.argv[2] === 'catalog') await startCatalog(readConfig(CatalogConfig, process.env), { onStage });
else await startBatches(readConfig(BatchesConfig, process.env), { onStage });

createInterface({ input: process.stdin })
  .on('line', (stage) => {
    wanted = stage;
    say(stage);
  })
  .on('close', () => process.exit());
say('serving');
