// What became of each item of a push, or would become of it, for a caller that asks with `details=true`.
import { Type, type Static } from 'typebox';
import { oneOf } from './fields.ts';
import { unknownNamedMax } from './unknown-names.ts';

export const ItemDetails = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: 'Where the item stands in the pushed array' }),
    action: oneOf(['created', 'updated', 'unchanged', 'failed']),
    changedFields: Type.Array(Type.String(), { description: 'Of an item that is `updated`' }),
    problems: Type.Array(
      Type.Object({
        pointer: Type.String({ description: 'Into the body, as in RFC 6901' }),
        code: oneOf(['required', 'wrong_value', 'not_an_object', 'reference_not_found', 'unknown_field']),
        detail: Type.String({ description: 'What was wrong, for a person to read' }),
      }),
    ),
    ignored: Type.Array(Type.String(), {
      description: `Pointers to the fields of the item that are not known, the first ${unknownNamedMax}; with \`handling=strict\` they are problems`,
    }),
  },
  { title: 'ItemDetails' },
);
export type ItemDetails = Static<typeof ItemDetails>;

/** What the answer has beside the counts, `errors` and `records`. */
export const itemDetails = {
  unchanged: Type.Integer({ minimum: 0, description: 'The part of `updated` that changes nothing' }),
  details: Type.Array(ItemDetails, { description: 'One per item, in the order of the body' }),
};
