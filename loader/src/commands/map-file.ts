// The file of --map.
import { readFile } from 'node:fs/promises';
import { messageOf, Stop } from '../core/exit.ts';
import { parseMap, type LoadMap } from '../core/mapping/map.ts';

export async function readMap(file: string): Promise<LoadMap> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Stop(`The map ${file} cannot be read: ${messageOf(cause)}`);
  });
  try {
    return parseMap(JSON.parse(text), file);
  } catch (error) {
    if (error instanceof Stop) throw error;
    throw new Stop(`The map ${file} is no JSON: ${messageOf(error)}`, undefined, { cause: error });
  }
}
