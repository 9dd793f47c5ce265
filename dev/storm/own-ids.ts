// Ids of records of one kind, which a single caller pushes. The caller stops using an id after a few pushes that were cut off:
// each of these may or may not have taken effect, and after many of them no check could judge the record.
import type { Random } from '../fuzz/random.ts';
import type { Item } from './lines.ts';

/** The prefix of ids that are pushed to be erased. */
export const erasedPrefix = 'e-';

export type OwnIds = ReturnType<typeof openOwnIds>;

const cutOffMax = 4;

export function openOwnIds(prefix: string) {
  const known: string[] = [];
  const acceptedIds: string[] = [];
  const everAccepted = new Set<string>();
  const lastItems = new Map<string, Item>();
  const cutOffs = new Map<string, number>();

  const fresh = (): string => {
    const id = `${prefix}-${known.length + 1}`;
    known.push(id);
    return id;
  };

  return {
    fresh,
    /** An id that was pushed before, if there is one. */
    drawKnown(random: Random): string {
      const id = known[random.integer(known.length)];
      return id !== undefined && (cutOffs.get(id) ?? 0) < cutOffMax ? id : fresh();
    },
    /** An id whose record surely exists. */
    drawAccepted(random: Random): string {
      const id = acceptedIds[random.integer(acceptedIds.length)];
      if (id === undefined) throw new RangeError('no record has been accepted so far');
      return id;
    },
    acceptedCount: () => acceptedIds.length,
    /** The last accepted item of the id; undefined if a later push may have changed the record. */
    lastAccepted: (id: string): Item | undefined => lastItems.get(id),
    accepted(id: string, item: Item): void {
      if (!everAccepted.has(id)) acceptedIds.push(id);
      everAccepted.add(id);
      lastItems.set(id, item);
    },
    cutOff(id: string): void {
      lastItems.delete(id);
      cutOffs.set(id, (cutOffs.get(id) ?? 0) + 1);
    },
  };
}
