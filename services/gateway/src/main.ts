// The gateway as a process.
import { setFlagsFromString } from 'node:v8';
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { GatewayConfig } from './config.ts';
import { startGateway } from './service.ts';

// Bodies pass through outside V8's heap, which is small. By its own measure V8 would collect all of it for every
// 14 MB that pass, which costs more than everything else that the gateway does with them.
setFlagsFromString('--heap-growing-percent=400');

await runProcess('gateway', () => startGateway(readConfig(GatewayConfig, process.env)));
