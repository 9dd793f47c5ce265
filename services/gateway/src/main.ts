// The process of the gateway.
import { setFlagsFromString } from 'node:v8';
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { GatewayConfig } from './config.ts';
import { startGateway } from './service.ts';

// Bodies pass through outside V8's heap, which is small and stays so. V8 counts them as growth all the same: by default
// it would look through everything it holds for every 14 MB that pass, and that costs as much as all else that the
// gateway does with them. With a heap that may grow, V8 looks through it ten times more seldom. A young generation that
// does not grow is swept often instead, which frees bodies and looks at next to nothing.
setFlagsFromString('--heap-growing-percent=400');
setFlagsFromString('--semi-space-growth-factor=1');

await runProcess('gateway', () => startGateway(readConfig(GatewayConfig, process.env)));
