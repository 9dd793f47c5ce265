// What a child process says, kept in a file that cannot grow without bound: when it is full it becomes
// NAME.1 and a new one begins, so that the last `bytesMax` are always there.
import { closeSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

export interface LogFile extends Disposable {
  readonly path: string;
  write(line: string): void;
}

const bytesMaxDefault = 10 * 1024 * 1024;

export function openLogFile(path: string, bytesMax = bytesMaxDefault): LogFile {
  mkdirSync(dirname(path), { recursive: true });
  let file = openSync(path, 'a');
  let bytes = statSync(path).size;
  let broken = false;
  const turnOver = (): void => {
    closeSync(file);
    renameSync(path, `${path}.1`);
    file = openSync(path, 'a');
    bytes = 0;
  };
  return {
    path,
    write(line) {
      if (broken) return;
      try {
        bytes += writeSync(file, `${line}\n`);
        if (bytes > bytesMax) turnOver();
      } catch {
        // A full disk must not take down what it reports about; the rest of the log is lost.
        broken = true;
      }
    },
    [Symbol.dispose]() {
      broken = true;
      closeSync(file);
    },
  };
}
