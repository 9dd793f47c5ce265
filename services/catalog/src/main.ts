// The catalog service as a process.
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { CatalogConfig } from './config.ts';
import { startCatalog } from './service.ts';

await runProcess('catalog', (signal) => startCatalog(readConfig(CatalogConfig, process.env), { signal }));
