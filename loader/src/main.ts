#!/usr/bin/env node
// The process: arguments, signals, streams and the exit code.
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { exitCodes, systemCodeOf } from './core/exit.ts';
import { run } from './run.ts';

// A load makes much garbage and keeps little in memory. So V8 runs a full collection once the heap has grown by 60 %. The space
// for young objects stays at 12 MiB; otherwise V8 lets it grow to five times that size. One thread collects young objects: several
// take more processor time, and are no faster.
const youngBytesMax = 12 * 1024 * 1024;
setFlagsFromString('--no-parallel-scavenge');
setFlagsFromString('--heap-growing-percent=60');
const watch = setInterval(() => {
  const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
  if ((young?.space_size ?? 0) < youngBytesMax) return;
  setFlagsFromString('--semi-space-growth-factor=1');
  clearInterval(watch);
}, 10);
watch.unref();

const interrupt = new AbortController();
const abort = new AbortController();

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupt.signal.aborted) abort.abort(new Error('a second signal cut the command off'));
    else interrupt.abort(new Error('interrupted'));
    // Ends a command that waits for more of its standard input.
    process.stdin.destroy();
  });
}
let isLastText = false;
process.stdout.on('error', (error) => {
  // An error of the output is ignored if its reader has closed the pipe, as `head` does.
  if (systemCodeOf(error) === 'EPIPE' && isLastText) return;
  if (systemCodeOf(error) === 'EPIPE') process.exit(exitCodes.all);
  process.stderr.write(`The output cannot be written: ${error.message}\n`);
  process.exit(exitCodes.unfinished);
});
// A load goes on if the reader of standard error has closed the pipe.
process.stderr.on('error', () => undefined);

process.exitCode = await run(process.argv.slice(2), {
  environment: process.env,
  streams: {
    async out(text, isLast = false) {
      isLastText = isLast;
      await new Promise<void>((done) => process.stdout.write(text, () => done()));
    },
    err: (text) => void process.stderr.write(text),
    isTerminal: process.stderr.isTTY,
    columns: () => process.stderr.columns || 80,
  },
  input: process.stdin,
  interrupt: interrupt.signal,
  abort: abort.signal,
});
// Standard input is closed, because an open standard input would keep the process alive.
process.stdin.destroy();
