// Numbers for people.

/** A number of things, such as `1 row` and `2 rows`. */
export const counted = (number: number, thing: string): string =>
  `${count(number)} ${thing}${number === 1 ? '' : 's'}`;

/** Formats a number as 1,250,000. `toLocaleString` first loads its tables of all languages, which takes 0.1 s. */
export function count(number: number): string {
  const digits = String(number);
  const first = digits.length % 3;
  const groups = digits.slice(first).match(/\d{3}/g) ?? [];
  return (first === 0 ? groups : [digits.slice(0, first), ...groups]).join(',');
}
