// Finds and runs a command, and puts the error that stopped the command into words.
import { NatsRefusal, unheardSubject } from '@integration-sync/runtime/bus';
import { ConfigError, type Environment } from '@integration-sync/runtime/config';
import { Failure } from '@integration-sync/contracts';
import { redactUrl } from '@integration-sync/runtime/log';
import { sortStoreError } from '@integration-sync/runtime/store';
import { clientCommand } from './client/command.ts';
import { exitCodes, Misuse, Refusal, type Command, type ExitCode } from './command.ts';
import { integrationsCommand } from './integrations.ts';
import { openOutput, type Writers } from './output.ts';
import { purgeCommand } from './purge/command.ts';
import { readerCommand } from './reader.ts';
import { resealCommand } from './reseal.ts';
import { streamsCommand } from './streams/command.ts';
import { webhooksCommand } from './webhooks.ts';

const commands: readonly Command[] = [
  integrationsCommand,
  clientCommand,
  streamsCommand,
  readerCommand,
  resealCommand,
  webhooksCommand,
  purgeCommand,
];

const width = Math.max(...commands.map(({ name }) => name.length));

const usage = `Usage: ops COMMAND [options]

${commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`).join('\n')}

Each command looks and says what it found; with --apply it changes something (client changes its file at once). ops COMMAND --help has its options,
the settings that it reads, and examples. --json prints what was found as one JSON document.

Exit codes:
  0  all is well, or what was asked for is done
  1  it could not be done: an engine is away, or refuses
  2  wrong arguments or settings
  3  a fault was found, or work is left to do
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
    const running = command.run(others, { environment, output, stop: stopped.reject });
    return await Promise.race([running, stopped.promise]);
  } catch (error) {
    const { message, exitCode } = refusalOf(command, error);
    stderr.write(`${redactUrl(message)}\n`);
    return exitCode;
  }
}

function refusalOf({ name, help }: Command, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Misuse || isOfParseArgs(error))
    return new Refusal(`${message}\n\n${help}`, exitCodes.misuse);
  if (error instanceof ConfigError)
    return new Refusal(
      `ops ${name}: these settings are wrong:\n${message.replaceAll(/^/gm, '  ')}`,
      exitCodes.misuse,
    );
  if (error instanceof NatsRefusal) return new Refusal(message);
  const unheard = unheardSubject(error);
  if (unheard !== undefined)
    return new Refusal(
      `NATS has nobody who answers this login at ${unheard}. Either NATS has no JetStream, or the login lacks the subject: in ` +
        'deploy/nats/nats.conf the user "ops" may ask there, and NATS_URL takes its login. What was done stays done.',
    );
  const again = 'Run the same command again later: what was done stays done.';
  if (error instanceof Failure) return new Refusal(`${error.detail} ${again}`);
  const storeError = sortStoreError(error);
  if (storeError === 'unavailable')
    return new Refusal(`MongoDB is away or takes no writes: ${message}\n${again}`);
  if (storeError === 'refused') return new Refusal(`MongoDB refuses this login: ${message}\n${again}`);
  const cause = error instanceof Error && error.stack !== undefined ? error.stack : message;
  return new Refusal(`ops ${name} failed. ${again}\n${cause}`);
}

const isOfParseArgs = (error: unknown): boolean =>
  error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
