// npm run console:build
// The files of the console (console/src) as browsers take them: one script, one style sheet, each with the hash of its content in
// its name, and the page that names both. The gateway serves them from console/dist.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const room = resolve(import.meta.dirname, '../console');
const folder = join(room, 'dist');

/** Several processes may build at once: they write the same bytes, and rename each file into place. */
export async function buildConsole(): Promise<void> {
  const [script, style, icon, page] = await Promise.all([
    bundleScript(),
    readFile(join(room, 'src/style.css')),
    readFile(join(room, 'src/icon.svg')),
    readFile(join(room, 'src/index.html'), 'utf8'),
  ]);
  const files = new Map<string, string | Buffer>([
    [`console-${hashOf(script)}.js`, script],
    [`style-${hashOf(style)}.css`, style],
    [`icon-${hashOf(icon)}.svg`, icon],
  ]);
  const [scriptName = '', styleName = '', iconName = ''] = files.keys();
  await mkdir(folder, { recursive: true });
  for (const [name, bytes] of files) await write(name, bytes);
  await write(
    'index.html',
    page.replace('main.tsx', scriptName).replace('style.css', styleName).replace('icon.svg', iconName),
  );
  for (const name of await readdir(folder))
    if (name !== 'index.html' && !files.has(name) && !name.endsWith('.tmp'))
      await rm(join(folder, name), { force: true });
}

async function bundleScript(): Promise<string> {
  const bundled = await rolldown({
    cwd: room,
    input: 'src/main.tsx',
    platform: 'browser',
    logLevel: 'warn',
  });
  const { output } = await bundled.generate({ format: 'esm', minify: true, comments: false });
  await bundled.close();
  if (output.length !== 1) throw new Error('the console is one script');
  return output[0].code;
}

async function write(name: string, bytes: string | Buffer): Promise<void> {
  const written = join(folder, `${name}.${process.pid}.tmp`);
  await writeFile(written, bytes);
  await rename(written, join(folder, name));
}

const hashOf = (bytes: string | Buffer): string =>
  createHash('sha256').update(bytes).digest('hex').slice(0, 12);

if (import.meta.main) await buildConsole();
