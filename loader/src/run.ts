// Runs the command that the arguments name. Only here an error of a command becomes a message and an exit code.
import { readFile } from 'node:fs/promises';
import type { Command, Context } from './command.ts';
import { exportCommand } from './commands/export.ts';
import { load } from './commands/load.ts';
import { mcp } from './commands/mcp.ts';
import { plan } from './commands/plan.ts';
import { prune } from './commands/prune.ts';
import { singer } from './commands/singer.ts';
import { verify } from './commands/verify.ts';
import { stopAfter } from './core/sending/refusals.ts';
import { exitCodes, type ExitCode } from './core/exit.ts';

const commands: readonly Command[] = [plan, load, verify, prune, exportCommand, singer, mcp];

const usage = `Usage: integration-sync COMMAND ...

${commands.map(({ name, summary }) => `  ${name.padEnd(8)} ${summary}`).join('\n')}

integration-sync COMMAND --help says more of each, integration-sync --version its release.
`;

async function versionOf(): Promise<string> {
  const manifest = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  const { version }: { version: string } = JSON.parse(manifest);
  return version;
}

export async function run(args: readonly string[], context: Context): Promise<ExitCode> {
  const [name, ...rest] = args;
  const command = commands.find((one) => one.name === name);
  if (command === undefined) {
    if (name === '--version') {
      await context.streams.out(`${await versionOf()}\n`);
      return exitCodes.all;
    }
    const isAsked = name === '--help' || name === '-h';
    if (isAsked) await context.streams.out(usage);
    else context.streams.err(name === undefined ? usage : `There is no command "${name}".\n\n${usage}`);
    return isAsked ? exitCodes.all : exitCodes.stopped;
  }
  try {
    return await command.run(rest, context);
  } catch (error) {
    const stop = stopAfter(error, context.interrupt);
    context.streams.err(`${stop.message}\n`);
    return stop.exitCode;
  }
}
