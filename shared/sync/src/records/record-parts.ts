// Writes of many records go to the database in a few parts at once, in the order that all pushes share.
import type { Fresh } from './classify.ts';

/** So many parts of about the same size, at once; one, where there is not enough to share. */
export async function inParts<One, Result>(
  all: readonly One[],
  parts: number,
  run: (part: readonly One[]) => Promise<Result>,
): Promise<Result[]> {
  if (all.length === 0) return [];
  const size = Math.max(Math.ceil(all.length / parts), partMin);
  const starts = Array.from({ length: Math.ceil(all.length / size) }, (_, nth) => nth * size);
  return Promise.all(starts.map((start) => run(all.slice(start, start + size))));
}

/** Less than this is written as fast as it is sent. */
const partMin = 100;

/** All pushes write in the same order, so that none waits for another in a circle. */
export const byId = <One extends Fresh>(several: readonly One[]): One[] =>
  several.toSorted((one, other) => (one.record.internalId < other.record.internalId ? -1 : 1));
