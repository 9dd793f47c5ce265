// The output of a child process, in a file that cannot grow without bound: a full file becomes NAME.1 and a new file begins, so
// that the last `bytesMax` are always there.
//
// Several lines are written at a time: a service under load logs thousands a second, and this process also looks after other
// children.
import { closeSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

export interface LogFile extends Disposable {
  readonly path: string;
  write(line: string): void;
}

const bytesMaxDefault = 10 * 1024 * 1024;
const pendingLengthMax = 64 * 1024;
const flushAfterMs = 100;

export function openLogFile(path: string, bytesMax = bytesMaxDefault): LogFile {
  mkdirSync(dirname(path), { recursive: true });
  let file: number | undefined = openSync(path, 'a');
  let bytes = statSync(path).size;
  let pending = '';
  let timer: NodeJS.Timeout | undefined;

  const turnOver = (full: number): void => {
    closeSync(full);
    file = undefined;
    renameSync(path, `${path}.1`);
    file = openSync(path, 'a');
    bytes = 0;
  };
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const text = pending;
    pending = '';
    if (file === undefined || text === '') return;
    try {
      bytes += writeSync(file, text);
      if (bytes > bytesMax) turnOver(file);
    } catch {
      // A full disk must not end the process whose lines are logged; these lines are lost.
    }
  };
  return {
    path,
    write(line) {
      pending += `${line}\n`;
      if (pending.length > pendingLengthMax) flush();
      else timer ??= setTimeout(flush, flushAfterMs);
    },
    [Symbol.dispose]() {
      flush();
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}
