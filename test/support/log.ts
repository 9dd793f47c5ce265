// A log that keeps its lines, for tests of what it says and what it leaves out.
import { Writable } from 'node:stream';
import { openLog, type Log } from '@integration-sync/runtime/log';

export interface TestLog {
  log: Log;
  text: () => string;
}

export function openTestLog(service = 'test'): TestLog {
  const texts: string[] = [];
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      texts.push(chunk.toString());
      done();
    },
  });
  return {
    log: openLog({ service, level: 'debug', pretty: false, destination }),
    text: () => texts.join(''),
  };
}
