// A new folder for each test of a file. Modules that also run outside of tests import folder.ts instead.
import { afterEach, beforeEach } from 'vitest';
import { temporaryFolder, type TemporaryFolder } from './folder.ts';

export function useFolder(): Pick<TemporaryFolder, 'path'> {
  let folder: TemporaryFolder;
  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(() => folder[Symbol.asyncDispose]());
  return {
    get path() {
      return folder.path;
    },
  };
}
