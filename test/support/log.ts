// A log that keeps its lines, for tests of what it says and what it leaves out.
import { openLog, type Log } from '@integration-sync/runtime/log';

export interface TestLog {
  log: Log;
  lines: string[];
  text: () => string;
}

export function openTestLog(service = 'test', level: 'debug' | 'info' = 'debug'): TestLog {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return {
    log: openLog({ service, level, pretty: false, destination }),
    lines,
    text: () => lines.join(''),
  };
}
