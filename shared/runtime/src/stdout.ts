// Lines on their way to stdout. A write for each would wake their reader for each, so they are written
// together: as soon as one of them is urgent, when 8 KiB wait, when the process ends, and after 20 ms at the
// latest. That much of what is not urgent is lost when a process is killed with -9.
import { pino } from 'pino';

const patienceMs = 20;
const enough = 8 * 1_024;

export interface Lines extends pino.DestinationStream {
  /** Writes at once what waits. */
  flush(): void;
}

let opened: Lines | undefined;

/** The one way to stdout, however many logs a process has: their lines come out in the order they were said. */
export const stdout = (): Lines => (opened ??= open());

function open(): Lines {
  const stream = pino.destination({ dest: 1, sync: true, minLength: enough });
  let timer: NodeJS.Timeout | undefined;
  // Not `flushSync`, which tries for ever where no process reads the pipe any more.
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    stream.flush();
  };
  process.on('exit', flush);
  return {
    write(line) {
      stream.write(line);
      timer ??= setTimeout(flush, patienceMs).unref();
    },
    flush,
  };
}
