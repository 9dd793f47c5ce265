// The assigned country codes of ISO 3166-1. fields.ts says which field accepts which codes. shared/sync (items/field-changes.ts)
// stores codes in upper case.
import { iso31661 } from 'iso-3166';

export const alpha2Codes: ReadonlySet<string> = new Set(iso31661.map((country) => country.alpha2));
export const alpha3Codes: ReadonlySet<string> = new Set(iso31661.map((country) => country.alpha3));

/** The alpha-2 code that a caller means by an alpha-3 code, or by "UK", which is not assigned. */
export const meantCodes: ReadonlyMap<string, string> = new Map([
  ['UK', 'GB'],
  ...iso31661.map(({ alpha2, alpha3 }) => [alpha3, alpha2] as const),
]);
