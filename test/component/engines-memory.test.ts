import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openMemory } from '../../dev/engines/memory.ts';
import { useFolder } from '../support/use-folder.ts';

// What the engines remember from one start to the next.

const folder = useFolder();
const served = { source: 'path', refused: 'docker: Docker does not answer', port: 4_222 } as const;

it('a start remembers where it last got nats-server and mongod: PATH, Docker or a download', async () => {
  openMemory(folder.path).note('nats', served);
  const memory = openMemory(folder.path);
  expect(memory.recall('nats')).toEqual(served);
  expect(memory.recall('mongodb')).toBeUndefined();
});

it('a start replaces the file that remembers where it got nats-server and mongod, if the file is not JSON', async () => {
  await writeFile(join(folder.path, 'served.json'), '{"nats":');
  const memory = openMemory(folder.path);
  expect(memory.recall('nats')).toBeUndefined();
  memory.note('nats', served);
  expect(memory.recall('nats')).toEqual(served);
});

it('a start succeeds although the file that remembers where it got nats-server and mongod is unusable', async () => {
  await mkdir(join(folder.path, 'served.json'));
  const memory = openMemory(folder.path);
  expect(memory.recall('nats')).toBeUndefined();
  expect(() => memory.note('nats', served)).not.toThrow();
});
