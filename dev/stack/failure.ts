// What stops the stack from starting, in words for the person at the terminal.
import { NoEngine } from '../engines/index.ts';
import { LockFailure } from '../process/lock.ts';

/** The message says what is wrong and what to do; there is nothing else to know. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}

/** Undefined for an unforeseen error: its stack trace is what helps. */
export function explainFailure(error: unknown): string | undefined {
  if (error instanceof StartFailure || error instanceof NoEngine) return error.message;
  if (error instanceof LockFailure) return `${error.message}\n${letWrite}`;
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const advice = advices.get(String(error.code));
  return advice === undefined ? undefined : `${error.message}\n${advice}`;
}

const makeRoom = 'The disk is full: make room, then start again.';
const letWrite = 'Nothing can be written there: look at its permissions and at the disk, then start again.';

const advices = new Map([
  ['ENOSPC', makeRoom],
  ['EDQUOT', makeRoom],
  ['EACCES', letWrite],
  ['EPERM', letWrite],
  ['EROFS', 'That file system is read-only: work in a copy on another one.'],
]);
