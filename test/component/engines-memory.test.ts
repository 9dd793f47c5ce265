import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openMemory } from '../../dev/engines/memory.ts';
import { temporaryFolder } from '../support/folder.ts';

// What the engines remember from one start to the next.

const served = { source: 'path', refused: 'docker: Docker does not answer', port: 4_222 } as const;

it('a start remembers the last working source of each engine', async () => {
  await using folder = await temporaryFolder();
  openMemory(folder.path).note('nats', served);
  const memory = openMemory(folder.path);
  expect(memory.recall('nats')).toEqual(served);
  expect(memory.recall('mongodb')).toBeUndefined();
});

it('a start replaces a memory file that is not JSON', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'served.json'), '{"nats":');
  const memory = openMemory(folder.path);
  expect(memory.recall('nats')).toBeUndefined();
  memory.note('nats', served);
  expect(memory.recall('nats')).toEqual(served);
});

it('a memory that a start can neither read nor write does not stop it', async () => {
  await using folder = await temporaryFolder();
  await mkdir(join(folder.path, 'served.json'));
  const memory = openMemory(folder.path);
  expect(memory.recall('nats')).toBeUndefined();
  expect(() => memory.note('nats', served)).not.toThrow();
});
