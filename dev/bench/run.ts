// How a benchmark is begun and ended as a command: options that are wrong and engines that are not there get words, not a
// stack trace.
import { explainMisuse, messageOf } from '../process/words.ts';
import { explainFailure, StartFailure } from '../stack/failure.ts';

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

export async function runAsCommand(usage: string, run: () => Promise<void>): Promise<void> {
  // A reader that has gone, as in `npm run bench | head`, is no reason to stop.
  process.stdout.on('error', () => undefined);
  try {
    if (process.platform !== 'linux')
      throw new StartFailure('The benchmarks count processor time as Linux does, and run nowhere else.');
    await run();
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${wordsFor(error, usage)}\n`);
  }
}

function wordsFor(error: unknown, usage: string): string {
  const known = explainFailure(error);
  if (known !== undefined) return known;
  const misuse = explainMisuse(error, usage);
  // What no check foresaw is a fault of the benchmark, and its stack says where.
  return misuse === `${messageOf(error)}\n` && error instanceof Error ? (error.stack ?? misuse) : misuse;
}
