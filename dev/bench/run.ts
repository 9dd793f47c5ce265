// How a benchmark is begun and ended as a command: options that are wrong and engines that are not there get words, not a
// stack trace.
import { untilTold } from '../process/signals.ts';
import { explainMisuse, messageOf } from '../process/words.ts';
import { explainFailure, StartFailure } from '../stack/failure.ts';

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Starts what a benchmark runs on, and sees to it that it is stopped again. The signal gives up a start. */
export type Start = <T extends AsyncDisposable>(open: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** Ctrl-C and its like stop all that was started, which would live on without the benchmark. */
export async function runAsCommand(usage: string, run: (start: Start) => Promise<void>): Promise<void> {
  // A reader that has gone, as in `npm run bench | head`, is no reason to stop.
  process.stdout.on('error', () => undefined);
  const ending = new AsyncDisposableStack();
  const stop = new AbortController();
  const starts = new Set<Promise<unknown>>();
  const start: Start = async (open) => {
    stop.signal.throwIfAborted();
    const started = open(stop.signal).then((one) => ending.use(one));
    starts.add(started);
    return started.finally(() => starts.delete(started));
  };
  // An error that nothing waits for would end the process, and leave behind what was started.
  const unforeseen = Promise.withResolvers<never>();
  process.on('unhandledRejection', unforeseen.reject);
  const running = carryOut(() => Promise.race([run(start), unforeseen.promise])).catch((error: unknown) => {
    process.exitCode = 1;
    // One that is stopped finds that its engines are gone.
    if (!stop.signal.aborted) process.stderr.write(`${wordsFor(error, usage)}\n`);
  });
  const stopped = untilTold().then(() => {
    process.exitCode = 1;
    stop.abort();
    return Promise.allSettled(starts);
  });
  await Promise.race([running, stopped]);
  await ending.disposeAsync();
  process.exit();
}

async function carryOut(run: () => Promise<void>): Promise<void> {
  if (process.platform !== 'linux')
    throw new StartFailure('The benchmarks count processor time as Linux does, and run nowhere else.');
  await run();
}

function wordsFor(error: unknown, usage: string): string {
  const known = explainFailure(error);
  if (known !== undefined) return known;
  const misuse = explainMisuse(error, usage);
  // What no check foresaw is a fault of the benchmark, and its stack says where.
  return misuse === `${messageOf(error)}\n` && error instanceof Error ? (error.stack ?? misuse) : misuse;
}
