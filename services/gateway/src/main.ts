// The gateway as a process.
import './heap.ts';
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { GatewayConfig } from './config.ts';
import { startGateway } from './service.ts';

await runProcess('gateway', () => startGateway(readConfig(GatewayConfig, process.env)));
