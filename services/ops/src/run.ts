// Finds the command, runs it, and puts into words what stopped it.
import { ConfigError, type Environment } from '@integration-sync/runtime/config';
import { Failure } from '@integration-sync/contracts';
import { redactUrl } from '@integration-sync/runtime/log';
import { sortStoreError } from '@integration-sync/runtime/store';
import { client } from './client/command.ts';
import { exitCodes, Misuse, Refusal, type Command, type ExitCode } from './command.ts';
import { openOutput, type Writers } from './output.ts';
import { purgeIntegration } from './purge/command.ts';
import { reader } from './reader.ts';
import { reseal } from './reseal.ts';
import { streams } from './streams/command.ts';
import { webhooks } from './webhooks.ts';

const commands: readonly Command[] = [client, streams, reader, reseal, webhooks, purgeIntegration];

const width = Math.max(...commands.map(({ name }) => name.length));

const usage = `Usage: ops COMMAND [options]

${commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join('\n')}

Each command looks and says what it found; with --apply it changes something (client changes its file at once). ops COMMAND --help has its options,
the settings that it reads, and examples. --json prints what was found as one JSON document.

Exit codes:
  0  all is well, or what was asked for is done
  1  it could not be done: an engine is away, or refuses
  2  wrong arguments or settings
  3  something is not as it should be, or is left to do
`;

export async function run(
  args: readonly string[],
  environment: Environment,
  writers: Writers = process,
): Promise<ExitCode> {
  const { stdout, stderr } = writers;
  const [name, ...others] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    stdout.write(usage);
    return name === undefined ? exitCodes.misuse : exitCodes.well;
  }
  const command = commands.find((one) => one.name === name);
  if (command === undefined) {
    stderr.write(`There is no command ${JSON.stringify(name)}.\n\n${usage}`);
    return exitCodes.misuse;
  }
  if (others.includes('--help') || others.includes('-h')) {
    stdout.write(command.help);
    return exitCodes.well;
  }
  const stopped = Promise.withResolvers<never>();
  const output = openOutput(others.includes('--json'), writers);
  try {
    return await Promise.race([command.run(others, environment, output, stopped.reject), stopped.promise]);
  } catch (error) {
    const { words, exitCode } = explain(command, error);
    stderr.write(`${redactUrl(words)}\n`);
    return exitCode;
  }
}

function explain({ name, help }: Command, error: unknown): { words: string; exitCode: ExitCode } {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Misuse || isOfParseArgs(error))
    return { words: `${message}\n\n${help}`, exitCode: exitCodes.misuse };
  if (error instanceof ConfigError)
    return {
      words: `ops ${name}: these settings are wrong:\n${message.replaceAll(/^/gm, '  ')}`,
      exitCode: exitCodes.misuse,
    };
  if (error instanceof Refusal) return { words: message, exitCode: error.exitCode };
  const again = 'Run the same command again then: what was done stays done.';
  if (error instanceof Failure) return { words: `${error.detail} ${again}`, exitCode: exitCodes.failed };
  if (error instanceof Error && sortStoreError(error) === 'unavailable')
    return { words: `MongoDB went away: ${message}. ${again}`, exitCode: exitCodes.failed };
  const cause = error instanceof Error && error.stack !== undefined ? error.stack : message;
  return { words: `ops ${name} failed. ${again}\n${cause}`, exitCode: exitCodes.failed };
}

const isOfParseArgs = (error: unknown): boolean =>
  error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
