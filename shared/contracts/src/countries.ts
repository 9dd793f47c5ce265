// Which country codes are assigned, by ISO 3166-1.
import { iso31661 } from 'iso-3166';

export const alpha2Codes: ReadonlySet<string> = new Set(iso31661.map((country) => country.alpha2));
export const alpha3Codes: ReadonlySet<string> = new Set(iso31661.map((country) => country.alpha3));
