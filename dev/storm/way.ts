// A proxy to an engine: passes every byte on between its own port and the engine, until it is ended.
import { openProxy } from '../process/proxy.ts';

const [to = '', port] = process.argv.slice(2);
await openProxy([to], { port: Number(port) });
process.stdout.write('open\n');
