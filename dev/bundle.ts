// Bundles programs, each into one file, with the code that they share in files beside it. Otherwise Node loads more
// than a thousand modules for a service: a start from one file costs a third of the processor time. Image and tests run
// such files.
//
//   node dev/bundle.ts FOLDER   what the image runs: programs/, and services/NAME/src/main.ts, which import them
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const ownRoot = resolve(import.meta.dirname, '..');

export interface BundleOptions {
  /** Source files by the names of the programs. */
  sources: Readonly<Record<string, string>>;
  folder: string;
  /** The pattern for the names of the programs' files. */
  fileName: string;
  /** The repository of the sources; this repository unless given. */
  root?: string;
}

/** Resolves with the path of the file of each program. */
export async function bundle({
  sources,
  folder,
  fileName,
  root = ownRoot,
}: BundleOptions): Promise<Map<string, string>> {
  await mkdir(folder, { recursive: true });
  // The gateway reads its pages, which are beside its source.
  await cp(join(root, 'services/gateway/src/explorer'), join(folder, 'explorer'), { recursive: true });
  const bundled = await rolldown({
    cwd: root,
    input: { ...sources },
    platform: 'node',
    plugins: [requireHttp],
  });
  const { output } = await bundled.write({
    dir: folder,
    format: 'esm',
    entryFileNames: fileName,
    chunkFileNames: '[name]-[hash].mjs',
  });
  await bundled.close();
  const made = new Map<string, string>();
  for (const one of output)
    if (one.type === 'chunk' && one.isEntry) made.set(one.name, join(folder, one.fileName));
  for (const name of Object.keys(sources))
    if (!made.has(name)) throw new Error(`the bundler made no file of ${name}`);
  return made;
}

/** An ES import of node:http calls all its getters, one of which loads Node's undici: a tenth of a service's start. */
const requireHttp = {
  name: 'require node:http',
  resolveId: (id: string) => (id === 'node:http' ? '\0http' : undefined),
  load: (id: string) => (id === '\0http' ? "module.exports = require('http');" : undefined),
};

const ofImage = ['gateway', 'catalog', 'batches', 'webhooks', 'ops'];
const mainOf = (name: string): string => `services/${name}/src/main.ts`;

async function bundleForImage(folder: string): Promise<void> {
  const sources = Object.fromEntries(ofImage.map((name) => [name, mainOf(name)]));
  await bundle({ sources, folder: join(folder, 'programs'), fileName: '[name].mjs' });
  for (const name of ofImage) {
    await mkdir(join(folder, 'services', name, 'src'), { recursive: true });
    await writeFile(join(folder, mainOf(name)), `import '../../../programs/${name}.mjs';\n`);
  }
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('usage: node dev/bundle.ts FOLDER');
  await bundleForImage(resolve(folder));
}
