// Reads the file that --map names.
import { readFile } from 'node:fs/promises';
import { readMap, unreadableMap, type LoadMap } from '../core/mapping/map.ts';

export async function readMapFile(file: string | undefined): Promise<LoadMap> {
  if (file === undefined) return new Map();
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw unreadableMap(file, cause);
  });
  return readMap(text, file);
}
