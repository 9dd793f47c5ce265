// The gateway as a process.
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { GatewayConfig } from './config.ts';
import { tuneHeap } from './heap.ts';
import { startGateway } from './service.ts';

tuneHeap();
await runProcess('gateway', () => startGateway(readConfig(GatewayConfig, process.env)));
