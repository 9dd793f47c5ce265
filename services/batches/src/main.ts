// The batches service as a process.
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { isStoreAway } from '@integration-sync/runtime/store';
import { BatchesConfig } from './config.ts';
import { startBatches } from './service.ts';

await runProcess(
  'batches',
  (signal, misspelt) => startBatches(readConfig(BatchesConfig, process.env), { signal, misspelt }),
  { beginsAgainAfter: isStoreAway, settings: BatchesConfig },
);
