// Installs the frameworks with which the service is compared ("rivals"). They are in a folder of their own, outside of
// the workspaces, and are installed on first use only. NestJS needs decorators, which Node does not strip, so tsc
// compiles them.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openProgress } from '../engines/progress.ts';
import { readText, writeWhole } from '../process/files.ts';
import { runCommand } from '../process/command.ts';
import { waitForLock } from '../process/lock.ts';
import { repositoryFolder } from '../stack/services.ts';

export const rivalsFolder = join(import.meta.dirname, 'rivals');
/** The folder of the compiled rivals. */
export const builtFolder = join(rivalsFolder, '.local');

export async function installRivals(say: (line: string) => void, signal: AbortSignal): Promise<void> {
  using progress = openProgress(say);
  using _lock = await progress.during('waiting for the rivals', () =>
    waitForLock(join(builtFolder, 'install.lock'), { signal }),
  );
  const stamp = join(builtFolder, 'installed');
  const wanted = createHash('sha256')
    .update(readFileSync(join(rivalsFolder, 'package-lock.json')))
    .digest('hex');
  if (readText(stamp) !== wanted) {
    const what = 'rivals: installing Fastify, NestJS and Moleculer in dev/bench/rivals';
    progress.say(what);
    await progress.during(what, (onLine) =>
      runCommand('npm', ['ci', '--no-audit', '--no-fund'], { folder: rivalsFolder, signal, onLine }),
    );
    writeWhole(stamp, wanted);
  }
  await progress.during('rivals: compiling', (onLine) =>
    runCommand(join(repositoryFolder, 'node_modules', '.bin', 'tsc'), ['-p', rivalsFolder], {
      signal,
      onLine,
    }),
  );
}
