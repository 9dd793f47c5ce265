// Items as callers push them, drawn from the seed. Each right item has a name that no other item has, so that a value
// that is read tells which push it comes from.
import type { Random } from '../fuzz/random.ts';
import { nameFieldOf } from './check/fields.ts';
import type { Item, Plural } from './lines.ts';

const countries = ['DE', 'se', 'FR', 'PL', 'br', 'CI'] as const;
const units = ['kg', 'pcs', 't', 'm3'] as const;
const hsCodes = ['4407.91', '1801 00', '440710', '09011100'] as const;
const days = ['2026-01-31', '2026-03-05', '2027-12-31', '2026-07-01T08:00:00Z'] as const;

export interface Draft {
  externalId: string;
  name: string;
  /** The externalId to which the item refers. */
  reference: string | null;
  /** Whether the item has every field, so that its record is what the item says, whatever was there before. */
  whole: boolean;
}

export function drawItem(random: Random, plural: Plural, draft: Draft): Item {
  const { externalId, name, whole } = draft;
  const kept = Object.entries(optionalFields(random, plural, draft)).filter(
    ([field]) => whole || field.endsWith('ExternalId') || random.chance(0.7),
  );
  const fields = Object.fromEntries(kept);
  // A verification number needs a reference number.
  if (fields['ddsReferenceNumber'] === undefined) delete fields['ddsVerificationNumber'];
  return { externalId, [nameFieldOf(plural)]: name, ...fields };
}

function optionalFields(random: Random, plural: Plural, { name, reference }: Draft): Record<string, unknown> {
  const some = <T>(from: readonly [T, ...T[]]): T | null => (random.chance(0.15) ? null : random.pick(from));
  if (plural === 'suppliers') {
    return {
      code: random.chance(0.1) ? '' : `C-${random.integer(50)}`,
      country: some(countries),
      address: random.chance(0.05) ? 'Long road '.repeat(80) : 'Short road 1',
      contactPerson: null,
      email: some(['anna@example.com', 'otto@example.org']),
      phone: null,
      certifications: some([['FSC'], ['FSC', 'PEFC'], []]),
      isEuOrigin: some([true, false]),
    };
  }
  if (plural === 'products') {
    return {
      category: some(['boards', 'beams', 'beans 🌱']),
      country: some(countries),
      hsCode: some(hsCodes),
      unit: some(units),
      code: `P-${random.integer(50)}`,
      supplierExternalId: reference,
    };
  }
  const isReferenced = random.chance(0.5);
  return {
    ddsReferenceNumber: isReferenced ? `R-${name}` : null,
    ddsVerificationNumber: isReferenced && random.chance(0.7) ? `V-${name}` : null,
    productExternalId: reference,
    quantity: some([0, 1.5, 1_250, 20_000]),
    unit: some(units),
    receivedDate: some(days),
    expiryDate: some(days),
  };
}

export interface Wrong {
  item: unknown;
  /** How the reason against the item begins. */
  reason: string;
}

/** Wrong items: one without a name, and one with a value of the wrong type. */
const wrongs = {
  suppliers: [{ name: ' ' }, 'Supplier name', { isEuOrigin: 'true' }],
  products: [{ name: undefined }, 'Product name', { hsCode: 4_407 }],
  batches: [{ batchNumber: null }, 'Batch number', { quantity: '5' }],
} as const;

/** An item that must be refused; its id may also be that of a right item. */
export function spoilItem(random: Random, plural: Plural, item: Item): Wrong {
  const [nameless, name, mistyped] = wrongs[plural];
  return random.pick<Wrong>([
    { item: { ...item, ...nameless }, reason: `${name} is required` },
    { item: { ...item, ...mistyped }, reason: `${Object.keys(mistyped).join()}: expected ` },
    { item: 7, reason: 'expected an object' },
    { item: { ...item, externalId: undefined }, reason: 'externalId is required' },
  ]);
}
