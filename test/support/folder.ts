// A temporary folder of one test, which is removed when the test disposes of it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

export const folderPrefix = 'integration-sync-test-';

/** Makes a folder that its user removes; what a killed run leaves, the next one removes. */
export const makeFolder = (): Promise<string> => mkdtemp(join(tmpdir(), folderPrefix));

export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await makeFolder();
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
