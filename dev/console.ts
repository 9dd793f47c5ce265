// npm run console:build
// The files of the console (console/src) as browsers take them, each with the hash of its content in its name: a script and a style
// sheet, what the view *Load a file* fetches later, and the page that names them all. The gateway serves them from console/dist.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const room = resolve(import.meta.dirname, '../console');
const folder = join(room, 'dist');

/** Several processes may build concurrently: they write the same bytes, and rename each file into place. */
export async function buildConsole(): Promise<void> {
  const [page, ...made] = await Promise.all([
    readFile(join(room, 'src/index.html'), 'utf8'),
    ...scripts.map(bundleScripts),
    ...['style.css', 'icon.svg'].map(readNamed),
  ]);
  await mkdir(folder, { recursive: true });
  let named = page;
  const names = new Set(['index.html']);
  for (const { source, name, bytes } of made.flat()) {
    names.add(name);
    named = named.replace(`"console/${source}"`, `"console/${name}"`);
    await write(name, bytes);
  }
  await write('index.html', named);
  for (const name of await readdir(folder))
    if (!names.has(name) && !name.endsWith('.tmp')) await rm(join(folder, name), { force: true });
}

interface Made {
  /** The name by which the source of index.html refers to this file. */
  source: string;
  name: string;
  bytes: string | Buffer;
}

interface Script {
  input: string;
  /** The names in the source of index.html: of the bundled entry, and of a part that the page fetches later. */
  entry: string;
  part?: string;
}

/** The page with the view that it fetches when a person opens it, and the worker of that view. */
const scripts: readonly Script[] = [
  { input: 'src/main.tsx', entry: 'main.tsx', part: 'load-file.js' },
  { input: 'src/load/worker/main.ts', entry: 'worker.js' },
];

async function bundleScripts({ input, entry, part }: Script): Promise<Made[]> {
  const bundled = await rolldown({ cwd: room, input, platform: 'browser', logLevel: 'warn' });
  const { output } = await bundled.generate({
    format: 'esm',
    minify: true,
    comments: false,
    hashCharacters: 'hex',
    entryFileNames: `${entry === 'worker.js' ? 'worker' : 'console'}-[hash:12].js`,
    chunkFileNames: '[name]-[hash:12].js',
  });
  await bundled.close();
  if (output.length !== (part === undefined ? 1 : 2))
    throw new Error(`the bundler made an unexpected number of files of ${entry}`);
  return output.map((one) => {
    if (one.type !== 'chunk') throw new Error('the bundler made a file that is no script');
    return { source: one.isEntry ? entry : (part ?? ''), name: one.fileName, bytes: one.code };
  });
}

async function readNamed(source: string): Promise<Made[]> {
  const bytes = await readFile(join(room, 'src', source));
  return [{ source, name: source.replace('.', `-${hashOf(bytes)}.`), bytes }];
}

async function write(name: string, bytes: string | Buffer): Promise<void> {
  const written = join(folder, `${name}.${process.pid}.tmp`);
  await writeFile(written, bytes);
  await rename(written, join(folder, name));
}

const hashOf = (bytes: string | Buffer): string =>
  createHash('sha256').update(bytes).digest('hex').slice(0, 12);

if (import.meta.main) await buildConsole();
