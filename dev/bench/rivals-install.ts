// Installs the frameworks with which the service is compared ("rivals"). They are in a folder of their own, outside of
// the workspaces, and are installed on first use only. NestJS needs decorators, which Node does not strip, so tsc
// compiles them.
import { join } from 'node:path';
import { runCommand } from '../process/command.ts';
import { repositoryFolder } from '../stack/services.ts';

const rivalsFolder = join(import.meta.dirname, 'rivals');
/** The folder of the compiled rivals. */
export const builtFolder = join(rivalsFolder, '.local');

export async function installRivals(say: (line: string) => void): Promise<void> {
  say('installing and compiling Fastify and NestJS in dev/bench/rivals');
  const install = ['install', '--no-save', '--prefer-offline', '--no-audit', '--no-fund'];
  await runCommand('npm', install, { folder: rivalsFolder });
  await runCommand(join(repositoryFolder, 'node_modules', '.bin', 'tsc'), ['-p', rivalsFolder]);
}
