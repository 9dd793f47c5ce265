// The rivals' packages are in a folder of their own, outside the workspaces, so that no clone of the product carries them.
// The benchmark installs them on first use, and compiles the rivals, as NestJS needs what Node does not strip.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openProgress } from '../engines/progress.ts';
import { readText, writeWhole } from '../process/files.ts';
import { runCommand } from '../process/command.ts';
import { waitForLock } from '../process/lock.ts';
import { repositoryFolder } from '../stack/services.ts';

export const rivalsFolder = join(import.meta.dirname, 'rivals');
/** Below it, what is compiled. */
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
