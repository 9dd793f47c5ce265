// The process of the gateway.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readConfig } from '@integration-sync/runtime/config';
import { runProcess } from '@integration-sync/runtime/lifecycle';
import { GatewayConfig } from './config.ts';
import { startGateway } from './service.ts';

// Bodies lie outside V8's small heap, but V8 counts bodies as growth of the heap. By default V8 would mark its whole heap
// for every 14 MB of bodies, which costs as much as all other work on bodies. With a heap that may grow, V8 marks ten
// times less often. A young generation of fixed size is swept often instead, which frees bodies at next to no cost.
setFlagsFromString('--heap-growing-percent=400');
setFlagsFromString('--semi-space-growth-factor=1');
// With few requests, V8 would collect no garbage of a heap with these flags for an hour. So it is collected every 5 minutes,
// which takes 20 ms.
setFlagsFromString('--expose-gc');
const collect: NodeJS.GCFunction = runInNewContext('gc');
setInterval(() => void collect({ type: 'major', execution: 'async' }), 5 * 60_000).unref();

await runProcess(
  'gateway',
  (_stopping, misspelt) => startGateway(readConfig(GatewayConfig, process.env), { misspelt }),
  { settings: GatewayConfig },
);
