// Replaces whole cells by other values: as the rule `values` of a map says, and names and alpha-3 codes of countries by alpha-2
// codes.
import type { Kind } from '@integration-sync/client';
import type { FieldType } from '../kinds.ts';
import { textOf, type Convert } from './convert.ts';
import { alpha2ByAlpha3, alpha2ByName } from './countries.ts';
import type { Rules } from './map.ts';

interface Of {
  kind: Kind;
  field: string;
  type: FieldType;
  rules: Rules;
}

/**
 * If a map names no field for a replacement, it applies to these fields. Others are excluded, because the name of a supplier, for
 * example, may be the code of a country.
 */
const coded: ReadonlySet<string> = new Set(['country', 'unit', 'category']);

export function replacing(convert: Convert, { kind, field, type, rules }: Of): Convert {
  if (type !== 'text') return convert;
  const values = valuesOf(field, rules);
  const isCountry = field === 'country';
  if (values.size === 0 && !isCountry) return convert;
  // Alpha-3 codes are not replaced in products, which accept these codes.
  const codeOf = kind === 'suppliers' ? alpha2Of : alpha2ByName;
  return (cell) => {
    const text = typeof cell === 'string' || typeof cell === 'number' ? textOf(cell).trim() : '';
    const value = values.get(text);
    if (value !== undefined) return value;
    return (isCountry && text.length > 2 ? codeOf(text) : undefined) ?? convert(cell);
  };
}

function valuesOf(field: string, { values = {} }: Rules): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [from, to] of Object.entries(values)) {
    if (typeof to === 'string' && coded.has(field)) found.set(from, to);
    if (typeof to !== 'string' && from === field) for (const entry of Object.entries(to)) found.set(...entry);
  }
  return found;
}

const alpha2Of = (text: string): string | undefined =>
  alpha2ByAlpha3.get(text.toUpperCase()) ?? alpha2ByName(text);

/** A message with the first text that is replaced, as an example; undefined if no text is. */
export function standsFor(texts: readonly string[], convert: Convert): string | undefined {
  for (const text of new Set(texts)) {
    const value = text === '' ? undefined : convert(text);
    if (typeof value === 'string' && value.trim() !== text) return `"${text}" is ${value}`;
  }
  return undefined;
}
