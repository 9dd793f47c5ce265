// Finds the known names that are most similar to a missing or unknown name.

/** Names that differ only in case, blanks, invisible characters, underscores or hyphens count as equal. */
export const plainName = (name: string): string => name.toLowerCase().replaceAll(/[\s\p{Cf}_-]+/gu, '');

/** The name of a column for a message, followed by its field if the names differ. */
export const namedColumn = (column: string, field: string): string =>
  plainName(column) === plainName(field) ? column : `${JSON.stringify(column)} (${field})`;

/** The longest name of a column. Longer texts are not names, but lines of other text. */
const charactersMax = 200;

export function nearest(name: string, known: readonly string[], atMost: number): string[] {
  const plain = plainName(name);
  return known
    .filter((one) => one.length <= charactersMax)
    .map((one) => ({
      one,
      distance: distanceOf(plain, plainName(one)) / Math.max(plain.length, one.length, 1),
    }))
    .filter(({ distance }) => distance <= 0.6)
    .toSorted((first, second) => first.distance - second.distance)
    .slice(0, atMost)
    .map(({ one }) => one);
}

/** The Levenshtein distance of two names. The time is quadratic, but names are short. */
function distanceOf(first: string, second: string): number {
  let row = Array.from({ length: second.length + 1 }, (_, index) => index);
  for (let i = 1; i <= first.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= second.length; j += 1) {
      const replaced = Number(row[j - 1]) + (first[i - 1] === second[j - 1] ? 0 : 1);
      next.push(Math.min(Number(row[j]) + 1, Number(next[j - 1]) + 1, replaced));
    }
    row = next;
  }
  return Number(row.at(-1));
}
