// A proxy to an engine: passes every byte on between its own port and the engine, until it is ended. At SIGTERM it loses the
// engine's answers on its connections, and breaks these some time later.
import { openProxy } from '../process/proxy.ts';
import { answersLostMs } from './fault.ts';

const [to = '', port] = process.argv.slice(2);
const proxy = await openProxy([to], { port: Number(port) });
process.once('SIGTERM', () => {
  proxy.loseAnswers();
  setTimeout(() => process.exit(), answersLostMs);
});
process.stdout.write('open\n');
