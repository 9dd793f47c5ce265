// What all commands of `ops` share: how they are defined and called, their refusals and their exit codes.
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { isIntegration } from '@integration-sync/contracts';
import type { Environment } from '@integration-sync/runtime/config';
import type { Output } from './output.ts';

/** All commands have the same exit codes, which docs/operating.md lists. */
export const exitCodes = {
  /** The command has found no fault, or has done its work. */
  well: 0,
  /** The command failed: MongoDB or NATS is away, or refuses. */
  failed: 1,
  /** The arguments or the settings of the command are wrong. */
  misuse: 2,
  /** The command has found a fault, or has left work to do. */
  wrong: 3,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface Command {
  name: string;
  summary: string;
  help: string;
  run(args: readonly string[], caller: Caller): Promise<ExitCode>;
}

/** The environment variables of a command's caller, and the ways to answer that caller. */
export interface Caller {
  environment: Environment;
  output: Output;
  /** Ends the command immediately, also while it waits for MongoDB or NATS. */
  stop: (refusal: Refusal) => void;
}

/** The error if the arguments do not fit the command: run.ts prints the message and the command's help. */
export class Misuse extends Error {
  override readonly name = 'Misuse';
}

export function checkIntegration(given: string): void {
  if (isIntegration(given)) return;
  const shown = JSON.stringify(given.slice(0, 80));
  throw new Misuse(`--integration: 1 to 64 letters, digits, _ or -; not ${shown}.`);
}

/** The error if the command cannot be done now; the message says why, and what to do. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = exitCodes.failed, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

const commonOptions = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  apply: { type: 'boolean', default: false },
} as const;

type Options = NonNullable<ParseArgsConfig['options']>;

export interface Call<Own extends Options> extends Caller {
  values: ReturnType<typeof parseArgs<{ options: typeof commonOptions & Own }>>['values'];
  positionals: string[];
}

interface Definition<Own extends Options> extends Omit<Command, 'run'> {
  options: Own;
  allowPositionals?: boolean;
  run: (call: Call<Own>) => Promise<ExitCode>;
}

export const defineCommand = <const Own extends Options>({
  options,
  allowPositionals = false,
  run,
  ...command
}: Definition<Own>): Command => ({
  ...command,
  run(args, caller) {
    const all = { ...commonOptions, ...options };
    const { values, positionals } = parseArgs({ args: [...args], options: all, allowPositionals });
    return run({ values, positionals, ...caller });
  },
});
