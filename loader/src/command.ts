// The interface of a command, by which run.ts starts it.
import type { Environment } from './connection.ts';
import type { ExitCode } from './core/exit.ts';
import type { Streams } from './output.ts';

export interface Context {
  environment: Environment;
  streams: Streams;
  /** Standard input, which can be read only once. */
  input: AsyncIterable<Buffer>;
  /** Aborted by the first Ctrl-C: requests in flight end, and no further request begins. */
  interrupt: AbortSignal;
  /** Aborted by the second Ctrl-C: ends requests in flight too. */
  abort: AbortSignal;
}

export interface Command {
  name: string;
  /** The description of the command in one line, for the list of commands. */
  summary: string;
  usage: string;
  run(args: readonly string[], context: Context): Promise<ExitCode>;
}
