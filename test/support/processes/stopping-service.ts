// A service in which one push stops at one stage, so that a test can kill or freeze the service exactly there.
//
//   node stopping-service.ts catalog|batches STAGE      settings from the environment; says `serving`, then `reached`
//
// A line on its standard input is the stage at which a further push stops, and it says `serving` again. The line `go on` lets the
// stopped pushes go on. The service stops cleanly when its standard input ends.
import { createInterface } from 'node:readline';
import { startBatches } from '@integration-sync/batches';
import { BatchesConfig } from '@integration-sync/batches/config';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';

const [service, first] = process.argv.slice(2);
/** As a service logs it. */
const serving = '{"msg":"serving"}';
const say = (line: string): void => void process.stdout.write(`${line}\n`);

let wanted = first;
const goesOn = Promise.withResolvers<void>();
const onStage = async (stage: string): Promise<void> => {
  if (stage !== wanted) return;
  wanted = undefined;
  say('reached');
  await goesOn.promise;
};

const running =
  service === 'catalog'
    ? await startCatalog(readConfig(CatalogConfig, process.env), { onStage })
    : await startBatches(readConfig(BatchesConfig, process.env), { onStage });
createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (line === 'go on') return goesOn.resolve();
    wanted = line;
    return say(serving);
  })
  .on('close', () => void running[Symbol.asyncDispose]().then(() => process.exit(0)));
say(serving);
