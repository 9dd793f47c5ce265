// The pages of one listing, read at different times. A deletion between two reads moves an entity to the page before:
// then both pages may have it, or neither. Pure.
import type { Listing } from '../api/shapes.ts';

/** Pages by their numbers, in the order in which they were read. */
export type Pages<Entity> = ReadonlyMap<number, Listing<Entity>>;

/** Adds a page. Pages with another total are dropped, because the listing has changed, and are read again. */
export function withPage<Entity>(pages: Pages<Entity>, number: number, page: Listing<Entity>): Pages<Entity> {
  const kept = [...pages].filter(([one, { total }]) => one !== number && total === page.total);
  // A page without entities comes after the last page, and is not kept.
  const isThere = number === 1 || page.entities.length > 0;
  return new Map(isThere ? [...kept, [number, page]] : kept);
}

/** All entities in the order of the listing. An entity on two pages counts on the one that was read last. */
export function entitiesIn<Entity extends { id: string }>(pages: Pages<Entity>): Entity[] {
  const lastOf = new Map<string, number>();
  for (const [number, { entities }] of pages) for (const { id } of entities) lastOf.set(id, number);
  return [...pages]
    .toSorted(([one], [other]) => one - other)
    .flatMap(([number, { entities }]) => entities.filter(({ id }) => lastOf.get(id) === number));
}
