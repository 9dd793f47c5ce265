// What became of each item of a push, or would become of it, for a caller that asks with `details=true`.
import { Type, type Static } from 'typebox';
import { unknownNamedMax } from './unknown-names.ts';

const actions = ['created', 'updated', 'unchanged', 'failed'] as const;
const problemCodes = [
  'required',
  'wrong_value',
  'not_an_object',
  'reference_not_found',
  'unknown_field',
] as const;

export const ItemDetails = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: 'Where the item stands in the pushed array' }),
    action: Type.Unsafe<(typeof actions)[number]>({ type: 'string', enum: [...actions] }),
    changedFields: Type.Array(Type.String(), { description: 'Of an item that is `updated`' }),
    problems: Type.Array(
      Type.Object({
        pointer: Type.String({ description: 'Into the body, as in RFC 6901' }),
        code: Type.Unsafe<(typeof problemCodes)[number]>({ type: 'string', enum: [...problemCodes] }),
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
