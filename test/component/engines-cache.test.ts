// What is made once for all: whole or not there, by one maker at a time.
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { makeOnce, type Cache } from '../../dev/engines/cache.ts';
import { openProgress } from '../../dev/engines/progress.ts';
import { takeLock } from '../../dev/process/lock.ts';
import { temporaryFolder } from '../support/folder.ts';

async function openCache(say: (line: string) => void = () => undefined) {
  const folder = await temporaryFolder();
  const progress = openProgress(say);
  const stop = new AbortController();
  const cache: Cache = { folder: folder.path, progress, signal: stop.signal };
  const things = async (): Promise<string[]> =>
    (await readdir(folder.path)).filter((name) => !/\.lock/.test(name));
  const dispose = async (): Promise<void> => {
    progress[Symbol.dispose]();
    await folder[Symbol.asyncDispose]();
  };
  return { cache, stop, things, [Symbol.asyncDispose]: dispose };
}

const write = (folder: string): Promise<void> => writeFile(join(folder, 'program'), 'whole');

it('is made when it is not there, and not again', async () => {
  await using opened = await openCache();
  let made = 0;
  const make = async (folder: string): Promise<void> => {
    made += 1;
    await write(folder);
  };
  const first = await makeOnce(opened.cache, { name: 'engine-1', make });
  expect(await makeOnce(opened.cache, { name: 'engine-1', make })).toBe(first);
  expect(made).toBe(1);
  expect(await readdir(first)).toStrictEqual(['program']);
});

it('is made by one of two who want it at the same time', async () => {
  const lines: string[] = [];
  await using opened = await openCache((line) => lines.push(line));
  let atOnce = 0;
  let made = 0;
  const make = async (folder: string): Promise<void> => {
    made += 1;
    atOnce += 1;
    expect(atOnce).toBe(1);
    await wait(200);
    await write(folder);
    atOnce -= 1;
  };
  const both = await Promise.all([1, 2].map(() => makeOnce(opened.cache, { name: 'engine-1', make })));
  expect(both[0]).toBe(both[1]);
  expect(made).toBe(1);
  expect(lines).toStrictEqual([`engine-1 is being made by process ${process.pid}; waiting for it`]);
});

it('is not there when making it failed, and is made by the next', async () => {
  await using opened = await openCache();
  const fail = async (folder: string): Promise<void> => {
    await write(folder);
    throw new Error('the archive does not answer');
  };
  await expect(makeOnce(opened.cache, { name: 'engine-1', make: fail })).rejects.toThrow('does not answer');
  expect(await opened.things()).toStrictEqual([]);
  expect(existsSync(await makeOnce(opened.cache, { name: 'engine-1', make: write }))).toBe(true);
});

it('clears away the half that a killed maker left, and leaves the others’ alone', async () => {
  await using opened = await openCache();
  await mkdir(join(opened.cache.folder, 'engine-1.draft-99'));
  await mkdir(join(opened.cache.folder, 'engine-12.draft-99'));
  await makeOnce(opened.cache, { name: 'engine-1', make: write });
  expect((await opened.things()).toSorted()).toStrictEqual(['engine-1', 'engine-12.draft-99']);
});

it('is waited for no longer than the one who waits wants', async () => {
  await using opened = await openCache();
  using _held = takeLock(join(opened.cache.folder, 'engine-1.lock'));
  const waiting = makeOnce(opened.cache, { name: 'engine-1', make: write });
  opened.stop.abort(new Error('told to stop'));
  await expect(waiting).rejects.toThrow('aborted');
  expect(await opened.things()).toStrictEqual([]);
});
