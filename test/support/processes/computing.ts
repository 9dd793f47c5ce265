// Uses a given processor time: in its main thread, in a thread of Node's pool, or in a child. Or it starts an orphan
// and passes on its pid; the orphan computes at SIGUSR2 and ends at SIGTERM.
//
//   node computing.ts                      asked over its channel, one at a time
//   node computing.ts MILLISECONDS         computes for so long and ends
//   node computing.ts MILLISECONDS orphan  waits for SIGUSR2
import { pbkdf2 } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

type Where = 'itself' | 'thread' | 'child' | 'orphan';

const [only, kind] = process.argv.slice(2);
const derive = promisify(pbkdf2);

const usedMs = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
};

const mainUsedMs = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1_000;
};

function computeHere(ms: number): void {
  const before = process.cpuUsage();
  while (usedMs(before) < ms);
}

const ways: Readonly<Record<Where, (ms: number) => Promise<unknown>>> = {
  itself: async (ms) => computeHere(ms),
  async thread(ms) {
    const [before, mainBefore] = [process.cpuUsage(), process.threadCpuUsage()];
    // What the main thread uses to wait for the other does not count.
    const elsewhereMs = (): number => usedMs(before) - mainUsedMs(mainBefore);
    while (elsewhereMs() < ms) await derive('secret', 'salt', 20_000, 32, 'sha256');
  },
  child: (ms) =>
    once(spawn(process.execPath, [import.meta.filename, String(ms)], { stdio: 'inherit' }), 'exit'),
  orphan(ms) {
    // The shell ends at once, so that its child becomes an orphan with another parent.
    const words = [process.execPath, import.meta.filename, String(ms), 'orphan'];
    const shell = spawn('sh', ['-c', '"$0" "$@" &', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface({ input: shell.stdout }).on('line', (line) => process.send?.(line));
    return once(shell, 'exit');
  },
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);

if (only === undefined) {
  process.on('message', ({ where, ms }: { where: Where; ms: number }) => {
    void ways[where](ms).then(() => process.send?.('done'));
  });
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
} else if (kind === 'orphan') {
  process.on('SIGUSR2', () => {
    computeHere(Number(only));
    say('computed');
  });
  say(String(process.pid));
  // Ends the orphan if a test has ended without ending it.
  setTimeout(() => process.exit(), 30_000);
} else {
  computeHere(Number(only));
}
