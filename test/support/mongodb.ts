// A MongoDB of one test file's own, for tests that kill or freeze MongoDB. Starts in about two seconds.
import { startEngine, type Engine } from '@integration-sync/dev/engines';
import { makeFolder } from './folder.ts';

export async function startMongodb(): Promise<Engine> {
  return startEngine('mongodb', { dataFolder: await makeFolder(), temporary: true });
}
