// The webhooks service as a process.
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { WebhooksConfig } from './config.ts';
import { startWebhooks } from './service.ts';

await runProcess('webhooks', (signal) => startWebhooks(readConfig(WebhooksConfig, process.env), { signal }));
