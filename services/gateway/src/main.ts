// The process of the gateway.
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { GatewayConfig } from './config.ts';
import { tuneGarbageCollection } from './server/garbage-collection.ts';
import { startGateway } from './service.ts';

tuneGarbageCollection();
await runProcess('gateway', () => startGateway(readConfig(GatewayConfig, process.env)));
