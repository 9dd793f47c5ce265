// Starts the webhooks service as a process.
import { setFlagsFromString } from 'node:v8';
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { isStoreAway } from '@integration-sync/runtime/store';
import { WebhooksConfig } from './config.ts';
import { startWebhooks } from './service.ts';

// The objects of a delivery outlive two collections of V8's young generation, so they become garbage in the old generation. With
// this flag V8 collects the old generation once the heap has doubled. Otherwise, on a large machine, V8 waits until the heap has
// four times its size.
setFlagsFromString('--heap-growing-percent=100');

await runProcess(
  'webhooks',
  (signal, misspelt) => startWebhooks(readConfig(WebhooksConfig, process.env), { signal, misspelt }),
  { beginsAgainAfter: isStoreAway, settings: WebhooksConfig },
);
