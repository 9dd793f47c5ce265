import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { createInterface } from 'node:readline';
import { expect, inject, it, onTestFinished } from 'vitest';

/** Starts a process that makes one of the speeches in `processes/speech.ts`. */
function listen(speech: string) {
  const child = spawn(process.execPath, [inject('programs').speech, speech], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child.stdout;
}

const heard = async (speech: string): Promise<{ msg: string; count?: number }[]> =>
  (await text(listen(speech)))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

it('stdout has a log line within moments, although no further line follows', async () => {
  const [line] = await once(createInterface({ input: listen('says one thing and goes on') }), 'line');
  expect(JSON.parse(line)).toMatchObject({ msg: 'quiet' });
});

it('stdout has the last log line of a process that ends immediately after the line', async () => {
  await expect(heard('says one thing and ends')).resolves.toMatchObject([{ msg: 'quiet' }]);
});

it('stdout has a warning and the lines before the warning, although the process is killed immediately afterwards', async () => {
  await expect(heard('warns and is killed')).resolves.toMatchObject([{ msg: 'quiet' }, { msg: 'urgent' }]);
});

it('stdout has every log line whole and in order, at any number and length', async () => {
  const lines = await heard('says much and ends');
  expect(lines.map(({ count }) => count)).toStrictEqual([...Array(5_000).keys()]);
  expect(lines.every(({ msg }, count) => msg === '…'.repeat(count % 700))).toBe(true);
});
