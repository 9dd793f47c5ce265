// The floors without IO: the computing that no service can leave out of a push, by the libraries of catalog in the
// simplest way. Building the input of a part is not measured.
import { isUtf8 } from 'node:buffer';
import { formats, Supplier } from '@integration-sync/contracts';
import { Ajv } from 'ajv';
import { eventsOf, type Input } from './input.ts';

/** Prepares one push, and returns the function that is measured. */
export type Part = (input: Input) => () => unknown;

export const parse: Part =
  ({ body }) =>
  () => {
    if (!isUtf8(body)) throw new TypeError('the body is not UTF-8');
    const { suppliers }: { suppliers: unknown[] } = JSON.parse(body.toString());
    return suppliers;
  };

const ajv = new Ajv({ strict: true, allowUnionTypes: true, formats: { ...formats } });
ajv.addVocabulary(['x-expected', 'x-required']);
const isSupplier = ajv.compile(Supplier);

export const validate: Part =
  ({ items }) =>
  () => {
    for (const item of items) if (!isSupplier(item)) throw new TypeError('an item is wrong');
  };

export const answer: Part =
  ({ records }) =>
  () =>
    Buffer.from(
      JSON.stringify({
        success: true,
        created: records.length,
        updated: 0,
        errors: [],
        records: records.map(({ internalId, item }) => ({
          externalId: item.externalId,
          internalId,
          status: 'CREATED',
        })),
      }),
    );

export const eventBytes: Part = (input) => {
  const bodies = eventsOf(input).map(({ body }) => body);
  return () => bodies.map((body) => Buffer.from(JSON.stringify(body)));
};
