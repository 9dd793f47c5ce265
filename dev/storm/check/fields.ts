// What an item makes of a record, written once more from the contract, in the plainest code: absent keeps,
// null and empty text clear, country codes become upper case.
import { Batch, Product, Supplier } from '@integration-sync/contracts';
import type { Item, Plural } from '../lines.ts';

/** The fields of a record that exists. */
export type World = ReadonlyMap<string, string>;

/** The names of the fields of an item, `externalId` included. */
export const fieldNames: Readonly<Record<Plural, readonly string[]>> = {
  suppliers: Object.keys(Supplier.properties),
  products: Object.keys(Product.properties),
  batches: Object.keys(Batch.properties),
};

export const nameFieldOf = (plural: Plural): string => (plural === 'batches' ? 'batchNumber' : 'name');

export const isItem = (value: unknown): value is Item =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function applyItem(plural: Plural, before: World | undefined, item: Item): World {
  const after = new Map(before);
  for (const name of fieldNames[plural]) {
    const value = item[name];
    if (value === undefined || name === 'externalId') continue;
    if (value === null || value === '') after.delete(name);
    else after.set(name, textOf(name, value));
  }
  if (!after.has('ddsReferenceNumber')) after.delete('ddsVerificationNumber');
  // A push makes an archived record a synced one.
  if (item['syncStatus'] === undefined) after.delete('syncStatus');
  else after.set('syncStatus', JSON.stringify(item['syncStatus']));
  return after;
}

export const applyItems = (plural: Plural, before: World | undefined, items: readonly Item[]): World =>
  items.reduce<World>((world, item) => applyItem(plural, world, item), before ?? new Map());

/** The value in the form in which it is compared. */
const textOf = (name: string, value: unknown): string =>
  JSON.stringify(name === 'country' && typeof value === 'string' ? value.toUpperCase() : value);

/** The names of the changed fields, sorted; all fields if there was no record before. */
export function changedFields(before: World, after: World): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name)).toSorted();
}

export const worldOf = (fields: Item): World =>
  new Map(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]));

export const worldText = (world: World | undefined): string =>
  world === undefined ? 'nothing' : textInOrder(Object.fromEntries(world)).replaceAll('\\"', "'");

/** A text of the value that is the same for each order of its keys. */
export const textInOrder = (of: object): string =>
  JSON.stringify(Object.entries(of).toSorted(([one], [other]) => (one < other ? -1 : 1)));

/** What a listing shows of the record after the items. */
export const shownName = (plural: Plural, items: readonly Item[]): string =>
  String(items.at(-1)?.[nameFieldOf(plural)]);
