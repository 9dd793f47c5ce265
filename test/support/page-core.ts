// The loader's core as a page has it: bundled for browsers, over files that are blobs.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import type { parseMap } from '../../loader/src/core/mapping/map.ts';
import type { openSource, resolveInputs } from '../../loader/src/core/reading/inputs.ts';
import type { useFiles } from '../../loader/src/platform/browser.ts';

export interface PageCore {
  openSource: typeof openSource;
  parseMap: typeof parseMap;
  resolveInputs: typeof resolveInputs;
  useFiles: typeof useFiles;
  /** The bundle. */
  code: string;
}

const entry = 'entry.js';
const exported =
  "export * from 'integration-sync/core';\nexport { useFiles } from 'integration-sync/browser';\n";

async function load(): Promise<PageCore> {
  const bundled = await rolldown({
    cwd: import.meta.dirname,
    input: entry,
    platform: 'browser',
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? exported : null),
      },
    ],
  });
  const folder = await mkdtemp(join(tmpdir(), 'page-core-'));
  try {
    const { output } = await bundled.write({ file: join(folder, 'core.mjs'), format: 'esm', minify: true });
    const core = (await import(pathToFileURL(join(folder, 'core.mjs')).href)) as Omit<PageCore, 'code'>;
    return { ...core, code: output[0].code };
  } finally {
    await bundled.close();
    await rm(folder, { recursive: true });
  }
}

let loading: Promise<PageCore> | undefined;

export const pageCore = (): Promise<PageCore> => (loading ??= load());
