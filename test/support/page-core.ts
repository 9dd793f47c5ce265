// The loader's core as a page has it: bundled for browsers, over files that are blobs.
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
  const { output } = await bundled.generate({ format: 'esm', minify: true });
  await bundled.close();
  const [{ code }] = output;
  const url = `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`;
  return { ...((await import(url)) as Omit<PageCore, 'code'>), code };
}

let loading: Promise<PageCore> | undefined;

export const pageCore = (): Promise<PageCore> => (loading ??= load());
