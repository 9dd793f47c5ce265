// What stops the stack from starting, in words for the person at the terminal.
import { NoEngine } from '../engines/index.ts';
import { LockFailure } from '../process/lock.ts';

/** An error whose message says what is wrong and what to do, so that no stack trace is printed. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}

/** The message for the person; undefined for an unforeseen error, whose stack trace is printed. */
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
