// npm start: the whole system in one terminal, until Ctrl-C.
import { join } from 'node:path';
import { openDoor } from './console-door.ts';
import { endSignals } from './process/signals.ts';
import { explainFailure } from './stack/failure.ts';
import { startStack, type Stack } from './stack/index.ts';
import { parseOptions, usage } from './stack/options.ts';
import { welcome } from './stack/screen.ts';
import { reloadOnChange } from './stack/reload.ts';
import { repositoryFolder } from './stack/services.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
// The stack goes on without a reader of its output, as in `npm start | head`.
process.stdout.on('error', () => undefined);

const twiceWithinMs = 1_000;
let exitCodeOfEnd = 0;
let stack: Stack | undefined;
const stopping = listenForTheEnd();
process.exitCode = await run();
process.exit();

async function run(): Promise<number> {
  try {
    const { help, fresh, watch, replicas } = parseOptions(process.argv.slice(2));
    if (help) {
      say(usage);
      return 0;
    }
    await using running = await startStack({
      folder: join(repositoryFolder, '.local'),
      fresh,
      replicas,
      say,
      signal: stopping,
    });
    stack = running;
    const { console: page, authSecret } = running;
    // If another issuer signs tokens, the console asks the person for a token.
    await using door =
      page === undefined || authSecret === undefined
        ? undefined
        : await openDoor({ page, issue: () => running.token() });
    say(welcome({ ...running, console: door?.link ?? page }));
    using _reloading = watch
      ? reloadOnChange({ root: repositoryFolder, restart: (service) => running.restart(service), say })
      : undefined;
    if (!stopping.aborted) await new Promise((resolve) => stopping.addEventListener('abort', resolve));
    say('Stopping …');
  } catch (error) {
    // The error of a start that a signal ended is not reported: the person asked for the end.
    if (stopping.aborted && stack === undefined) return exitCodeOfEnd;
    const words = explainFailure(error);
    process.stderr.write(`\n${words ?? (error instanceof Error ? error.stack : String(error))}\n`);
    return 1;
  }
  say('Everything is stopped.');
  return exitCodeOfEnd;
}

function listenForTheEnd(): AbortSignal {
  const end = new AbortController();
  let toldAt = 0;
  for (const signal of endSignals) {
    process.on(signal, () => {
      if (!end.signal.aborted) {
        toldAt = performance.now();
        end.abort();
        return;
      }
      // npm passes on the signal that the terminal has sent already: one Ctrl-C may arrive twice.
      if (performance.now() - toldAt < twiceWithinMs) return;
      stack?.abandon();
      process.exit(1);
    });
  }
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error.stack}\n`);
    exitCodeOfEnd = 1;
    end.abort();
  });
  return end.signal;
}
