// The catalog service as a process.
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { isStoreAway } from '@integration-sync/runtime/store';
import { CatalogConfig } from './config.ts';
import { startCatalog } from './service.ts';

await runProcess(
  'catalog',
  (signal, misspelt) => startCatalog(readConfig(CatalogConfig, process.env), { signal, misspelt }),
  { beginsAgainAfter: isStoreAway, settings: CatalogConfig },
);
