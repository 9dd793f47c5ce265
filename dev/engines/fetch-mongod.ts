// Run by node as `fetch-mongod.ts VERSION FOLDER`: fetches mongod and leaves it as FOLDER/mongod. The program gives up when no
// bytes arrive any more: behind some firewalls a connection neither succeeds nor fails.
import { readdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setInterval } from 'node:timers/promises';
import { MongoBinary } from 'mongodb-memory-server-core';

const [version, folder] = process.argv.slice(2);
if (version === undefined || folder === undefined)
  throw new TypeError('usage: fetch-mongod.ts VERSION FOLDER');
void watchArrivals(folder);
try {
  const program = await MongoBinary.getPath({ version, downloadDir: folder });
  await rename(program, join(folder, 'mongod'));
  process.exit(0);
} catch (error) {
  fail(error instanceof Error ? (error.message.split(/, Details:|\n/)[0] ?? '') : String(error));
}

function fail(why: string): never {
  process.stderr.write(`Error: ${why}\n`);
  process.exit(1);
}

async function watchArrivals(path: string): Promise<void> {
  const silenceMsMax = 10_000;
  let bytes = 0;
  let arrivedAt = performance.now();
  for await (const _ of setInterval(500)) {
    const now = await bytesIn(path);
    if (now !== bytes) arrivedAt = performance.now();
    bytes = now;
    if (performance.now() - arrivedAt > silenceMsMax) fail(`nothing arrives for ${silenceMsMax / 1_000} s`);
  }
}

async function bytesIn(path: string): Promise<number> {
  const sizes = (await readdir(path)).map(async (name) => {
    const found = await stat(join(path, name)).catch(() => undefined);
    return found?.size ?? 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
