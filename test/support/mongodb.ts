// A MongoDB of one test file's own, for tests that kill or freeze MongoDB. Starts in about two seconds.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEngine, type Engine } from '@integration-sync/dev/engines';
import { folderPrefix } from './folder.ts';

export async function startMongodb(): Promise<Engine> {
  const dataFolder = await mkdtemp(join(tmpdir(), folderPrefix));
  return startEngine('mongodb', { dataFolder, temporary: true });
}
