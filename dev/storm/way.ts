// A way to an engine: hands on every byte between its own port and another one of this machine, until it is ended.
import { startProxy } from './cluster/proxy.ts';

const [to, port] = process.argv.slice(2);
const { url } = await startProxy([`http://127.0.0.1:${to}`], Number(port));
process.on('disconnect', () => process.exit(0));
process.send?.(Number(new URL(url).port));
