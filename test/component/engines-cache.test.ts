// What several processes make once: it is there whole or not at all, and one maker works on it at a time.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { makeOnce, type MakeContext, type Maker } from '../../dev/engines/make.ts';
import { openProgress } from '../../dev/engines/progress.ts';
import { identify } from '../../dev/process/identity.ts';
import { openLedger } from '../../dev/process/ledger.ts';
import { takeLock } from '../../dev/process/lock.ts';
import { temporaryFolder } from '../support/folder.ts';

async function openCache(say: (line: string) => void = () => undefined) {
  const folder = await temporaryFolder();
  const progress = openProgress(say);
  const stop = new AbortController();
  const cache = { folder: folder.path, progress, signal: stop.signal };
  const context: MakeContext = { name: 'nats', environment: process.env, cache };
  const things = async (): Promise<string[]> =>
    (await readdir(folder.path)).filter((name) => !/\.lock/.test(name));
  const dispose = async (): Promise<void> => {
    progress[Symbol.dispose]();
    await folder[Symbol.asyncDispose]();
  };
  return { context, folder: folder.path, stop, things, [Symbol.asyncDispose]: dispose };
}

const write = ({ folder }: Maker): Promise<void> => writeFile(join(folder, 'program'), 'whole');

it('one of two concurrent processes makes a cached build, and the other waits for the build', async () => {
  const lines: string[] = [];
  await using opened = await openCache((line) => lines.push(line));
  let atOnce = 0;
  let made = 0;
  const make = async (maker: Maker): Promise<void> => {
    made += 1;
    atOnce += 1;
    expect(atOnce).toBe(1);
    await wait(200);
    await write(maker);
    atOnce -= 1;
  };
  const both = await Promise.all([1, 2].map(() => makeOnce(opened.context, { name: 'engine-1', make })));
  expect(both[0]).toBe(both[1]);
  expect(made).toBe(1);
  expect(lines).toStrictEqual([`engine-1 is being made by process ${process.pid}; waiting for it`]);
});

it('a failed build leaves no cache entry, and the next process builds again', async () => {
  await using opened = await openCache();
  const giveUp = async (maker: Maker): Promise<void> => {
    await write(maker);
    throw new Error('the archive does not answer');
  };
  await expect(makeOnce(opened.context, { name: 'engine-1', make: giveUp })).rejects.toThrow(
    'does not answer',
  );
  expect(await opened.things()).toStrictEqual([]);
  expect(existsSync(await makeOnce(opened.context, { name: 'engine-1', make: write }))).toBe(true);
});

it('a build removes the partial files of a killed build, and none of a running build', async () => {
  await using opened = await openCache();
  await mkdir(join(opened.folder, 'engine-1.draft-99'));
  await mkdir(join(opened.folder, 'engine-12.draft-99'));
  await makeOnce(opened.context, { name: 'engine-1', make: write });
  expect((await opened.things()).toSorted()).toStrictEqual(['engine-1', 'engine-12.draft-99']);
});

it('a caller waits for a build of another process no longer than its time-out', async () => {
  await using opened = await openCache();
  using _held = takeLock(join(opened.folder, 'engine-1.lock'));
  const waiting = makeOnce(opened.context, { name: 'engine-1', make: write });
  opened.stop.abort(new Error('stop asked for'));
  await expect(waiting).rejects.toThrow('aborted');
  expect(await opened.things()).toStrictEqual([]);
});

const fail = async ({ step }: Maker): Promise<void> => {
  await step('building it', 'sh', ['-c', 'echo fine; echo "error: no room" >&2; exit 7'], {
    help: 'make room',
  });
};

it('the error of a failed build names the step, its output and a remedy', async () => {
  await using opened = await openCache();
  await expect(makeOnce(opened.context, { name: 'engine-1', make: fail })).rejects.toMatchObject({
    message: 'building it failed: sh failed (7): error: no room',
    help: 'make room',
  });
});

it('an aborted build does not wait for its running step', async () => {
  await using opened = await openCache();
  const make = async ({ step }: Maker): Promise<void> => {
    setTimeout(() => opened.stop.abort(new Error('stop asked for')), 50);
    await step('building it', 'sh', ['-c', 'sleep 60 & wait'], { help: '' });
  };
  await expect(makeOnce(opened.context, { name: 'engine-1', make })).rejects.toThrow('stop asked for');
  expect(await opened.things()).toStrictEqual([]);
});

it('a build first ends the command that a killed build left running', async () => {
  await using opened = await openCache();
  const orphan = spawn('sleep', ['60'], { stdio: 'ignore' });
  openLedger(join(opened.folder, 'engine-1.making.json')).enter('building it', orphan.pid ?? 0);
  await makeOnce(opened.context, { name: 'engine-1', make: write });
  expect(identify(orphan.pid ?? 0)).toBeUndefined();
  expect(await opened.things()).toStrictEqual(['engine-1']);
});
