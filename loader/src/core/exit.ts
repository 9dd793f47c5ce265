// How a command ends: an exit code for scripts, a message for people.

export const exitCodes = {
  /** Everything is done, and no row was rejected. */
  all: 0,
  /** The command stopped half-way, because the service cannot be reached or the disk is full: `--resume` continues. */
  unfinished: 1,
  /** All rows were sent, and some of them were rejected. */
  rejected: 2,
  /** The command stopped before any row was stored: wrong arguments, an unreadable file, or a key that lacks a scope. */
  stopped: 3,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The error that ends the command. Its message says where the problem is, and what to do. */
export class Stop extends Error {
  override readonly name = 'Stop';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.stopped, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The code of an error of Node.js, such as `ENOENT` or `ENOSPC`. */
export const systemCodeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
