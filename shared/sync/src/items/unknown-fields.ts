// Unknown fields of items, which are ignored unless the caller asks for strict handling.
import { pointerPart, unknownAmong, unknownName } from '@integration-sync/contracts';
import type { Item, Kind } from '../kind.ts';
import type { Reason } from './push-answer.ts';
import { isObject } from './push-body.ts';

const knownFields = ({ schema }: Kind): ReadonlySet<string> => new Set(Object.keys(schema.properties));

/** For strict handling. The texts are cached, as the items of a push often have the same unknown fields. */
export function refuseUnknown(kind: Kind): (item: Item) => Reason[] {
  const known = knownFields(kind);
  const details = new Map<string, string>();
  return (item) =>
    unknownAmong(Object.keys(item), known).map((field) => {
      const detail = details.getOrInsertComputed(field, () => unknownName('field', field, known));
      return { field, detail, code: 'unknown_field' };
    });
}

/** JSON pointers into the body to the unknown fields of an item. */
export function pointersToUnknown(kind: Kind): (item: unknown, position: number) => string[] {
  const known = knownFields(kind);
  return (item, position) =>
    isObject(item)
      ? unknownAmong(Object.keys(item), known).map(
          (field) => `/${kind.plural}/${position}/${pointerPart(field)}`,
        )
      : [];
}
