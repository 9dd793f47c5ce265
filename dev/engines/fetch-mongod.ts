// Run by node as `fetch-mongod.ts VERSION FOLDER`: fetches mongod and leaves it as FOLDER/mongod.
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoBinary } from 'mongodb-memory-server-core';

const [version, folder] = process.argv.slice(2);
if (version === undefined || folder === undefined)
  throw new TypeError('usage: fetch-mongod.ts VERSION FOLDER');
try {
  const program = await MongoBinary.getPath({ version, downloadDir: folder });
  await rename(program, join(folder, 'mongod'));
} catch (error) {
  process.stderr.write(
    `Error: ${error instanceof Error ? error.message.split(/, Details:|\n/)[0] : String(error)}\n`,
  );
  process.exitCode = 1;
}
