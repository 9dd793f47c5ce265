// The pages of one listing, which are read at different times. A deletion moves an entity over the edge of a page: of an old and a
// new page both may have it, or neither. Pure.
import type { Listing } from '../api/shapes.ts';

/** By number, in the order of their reading. */
export type Pages<Entity> = ReadonlyMap<number, Listing<Entity>>;

/** Pages of another total are forgotten: they are read again. */
export function withPage<Entity>(pages: Pages<Entity>, number: number, page: Listing<Entity>): Pages<Entity> {
  const kept = [...pages].filter(([one, { total }]) => one !== number && total === page.total);
  // A page behind the last one is none.
  const isThere = number === 1 || page.entities.length > 0;
  return new Map(isThere ? [...kept, [number, page]] : kept);
}

/** In the order of the listing. An entity of two pages stands in the one that was read last. */
export function entitiesIn<Entity extends { id: string }>(pages: Pages<Entity>): Entity[] {
  const lastOf = new Map<string, number>();
  for (const [number, { entities }] of pages) for (const { id } of entities) lastOf.set(id, number);
  return [...pages]
    .toSorted(([one], [other]) => one - other)
    .flatMap(([number, { entities }]) => entities.filter(({ id }) => lastOf.get(id) === number));
}
