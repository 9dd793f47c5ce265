// What every command is to run.ts.
import type { Environment } from './connection.ts';
import type { ExitCode } from './exit.ts';
import type { Streams } from './output.ts';

export interface Context {
  environment: Environment;
  streams: Streams;
  /** Read at most once. */
  input: AsyncIterable<Buffer>;
  /** Aborted when the user interrupts: what is under way ends, and no more begins. */
  interrupt: AbortSignal;
  /** Aborted when the user interrupts again: all ends. */
  abort: AbortSignal;
}

export interface Command {
  name: string;
  /** One line. */
  summary: string;
  usage: string;
  run(args: readonly string[], context: Context): Promise<ExitCode>;
}
