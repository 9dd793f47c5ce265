// The webhooks service as a process.
import { setFlagsFromString } from 'node:v8';
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { WebhooksConfig } from './config.ts';
import { startWebhooks } from './service.ts';

// What a delivery needs while it is in flight outlives two collections of young objects, so that it is garbage among what the
// process holds. V8 collects there once the heap has doubled: by itself where it is four times as large, on a large machine.
setFlagsFromString('--heap-growing-percent=100');

await runProcess('webhooks', (signal) => startWebhooks(readConfig(WebhooksConfig, process.env), { signal }));
