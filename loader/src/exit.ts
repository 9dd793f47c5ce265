// How a command ends, for scripts and people.

export const exitCodes = {
  /** All is done. */
  all: 0,
  /** The service cannot be reached, or the disk is full: `--resume` goes on. */
  unreachable: 1,
  /** All was sent, and some rows were rejected. */
  rejected: 2,
  /** Stopped before harm: wrong arguments, a file that cannot be read as it is, a key that may not. */
  stopped: 3,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The command cannot go on. The message says where, and what to do. */
export class Stop extends Error {
  override readonly name = 'Stop';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.stopped, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Of an error of Node's: `ENOENT`, `ENOSPC`. */
export const systemCodeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
