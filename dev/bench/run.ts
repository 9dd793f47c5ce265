// Runs a benchmark as a command. Wrong options and missing engines are reported in words, without a stack trace.
import { untilTold } from '../process/signals.ts';
import { explainMisuse, messageOf } from '../process/words.ts';
import { explainFailure } from '../stack/failure.ts';

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Starts a resource of the benchmark, and stops the resource at the end. An aborted signal ends a start. */
export type Start = <T extends AsyncDisposable>(open: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** A signal such as that of Ctrl-C stops all started processes, which would otherwise outlive the benchmark. */
export async function runAsCommand(usage: string, run: (start: Start) => Promise<void>): Promise<void> {
  // The benchmark goes on without a reader of its output, as in `npm run bench | head`.
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
  // Without this, a rejection that no code handles would end the process and leave the started processes running.
  const unforeseen = Promise.withResolvers<never>();
  process.on('unhandledRejection', unforeseen.reject);
  const running = Promise.race([run(start), unforeseen.promise]).catch((error: unknown) => {
    process.exitCode = 1;
    // A stopped benchmark fails because its engines are gone; that is no error.
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

function wordsFor(error: unknown, usage: string): string {
  const known = explainFailure(error);
  if (known !== undefined) return known;
  const misuse = explainMisuse(error, usage);
  // An unforeseen error is a bug of the benchmark, so its stack is printed.
  return misuse === `${messageOf(error)}\n` && error instanceof Error ? (error.stack ?? misuse) : misuse;
}
