// A NATS of one test file's own: for a test that counts streams, serves a subject that others serve too, or
// takes NATS away. Starts in a tenth of a second.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEngine, type Engine } from '@integration-sync/dev/engines';
import { folderPrefix } from './folder.ts';

export async function startNats(): Promise<Engine> {
  const dataFolder = await mkdtemp(join(tmpdir(), folderPrefix));
  return startEngine('nats', { dataFolder, temporary: true });
}

/** Starts a nats-server with these lines as its configuration, which must not set addresses. */
export async function startNatsAs(lines: readonly string[]): Promise<Engine> {
  const dataFolder = await mkdtemp(join(tmpdir(), folderPrefix));
  const natsConfig = join(dataFolder, 'own.conf');
  await writeFile(natsConfig, `${lines.join('\n')}\n`);
  return startEngine('nats', { dataFolder, temporary: true, natsConfig });
}
