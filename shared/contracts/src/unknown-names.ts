// Names that a caller has misspelt: of query parameters, of keys of a body and of fields of an item. A caller that asks for
// `handling=strict` gets an error for each misspelt name, with the nearest known name. Pure.
import { quote } from './quote.ts';
import type { FailureEntry } from './failure.ts';

/** Bounds for errors about unknown names: a body may have a million keys, and a key a million characters. */
export const unknownNamedMax = 10;
const pointerCharactersMax = 100;
/** How many characters remain of a key with many escapes, each of up to six characters. */
const pointerEscapedMax = 33;
const comparedCharactersMax = 40;

/** The first `unknownNamedMax` names that are not known. */
export function unknownAmong(names: Iterable<string>, known: ReadonlySet<string>): string[] {
  const unknown: string[] = [];
  for (const name of names) {
    if (known.has(name)) continue;
    unknown.push(name);
    if (unknown.length === unknownNamedMax) break;
  }
  return unknown;
}

/** A key as a part of a JSON Pointer (RFC 6901). A long key is truncated. */
export function pointerPart(key: string): string {
  const first = key.slice(0, pointerCharactersMax);
  const isLong = JSON.stringify(first).length > 2 * pointerCharactersMax + '""'.length;
  const part = isLong ? first.slice(0, pointerEscapedMax) : first;
  return part.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The error about an unknown name, with the nearest known name. `what` is the sort of name, such as "field". */
export function unknownName(what: string, name: string, known: Iterable<string>): string {
  const nearest = nearestTo(name, known);
  const hint = nearest === undefined ? 'none is known here' : `the nearest known one is ${quote(nearest)}`;
  return `unknown ${what} ${quote(name)}: ${hint}`;
}

/** An error for each parameter of a query that is not one of the route's (`known`). */
export const unknownParameters = (names: Iterable<string>, known: ReadonlySet<string>): FailureEntry[] =>
  unknownAmong(new Set(names), known).map((name) => ({
    pointer: name.slice(0, pointerCharactersMax).toWellFormed(),
    detail: unknownName('parameter', name, known),
  }));

/** An error for each key of a body that is not one of the route's (`known`). */
export const unknownKeys = (body: object, known: ReadonlySet<string>): FailureEntry[] =>
  unknownAmong(Object.keys(body), known).map((key) => ({
    pointer: `/${pointerPart(key)}`,
    detail: unknownName('key', key, known),
  }));

/** The nearest known name, whatever its case; of equally near names the first. Undefined without known names. */
export const nearestTo = (name: string, known: Iterable<string>): string | undefined =>
  nearestWithin(name, known, Infinity);

/** The nearest known name; undefined if each known name differs in more than `max` characters. */
export function nearestWithin(name: string, known: Iterable<string>, max: number): string | undefined {
  const compared = name.slice(0, comparedCharactersMax).toLowerCase();
  let nearest: string | undefined;
  let least = max + 1;
  for (const one of known) {
    const distance = editDistance(compared, one.toLowerCase(), least);
    if (distance >= least) continue;
    least = distance;
    nearest = one;
  }
  return nearest;
}

/** The Damerau-Levenshtein distance; `bound` or more if the distance is not below `bound`. */
function editDistance(one: string, other: string, bound: number): number {
  if (Math.abs(one.length - other.length) >= bound) return bound;
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const now = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      now[column] = Math.min(
        (last[column] ?? 0) + 1,
        (now[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped && row > 1 && column > 1 ? (before[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    if (Math.min(...now) >= bound) return bound;
    before = last;
    last = now;
  }
  return last[other.length] ?? 0;
}
