// Whether a record was found in none of the kinds (suppliers, products, batches) that the token may list. Pure.

interface Found {
  /** Whether the token lacks the scope to list records of this kind. */
  isOff: boolean;
  /** How many records were found; undefined until the answer has come. */
  count: number | undefined;
}

export function isNowhere(kinds: readonly Found[]): boolean {
  const asked = kinds.filter(({ isOff }) => !isOff);
  return asked.length > 0 && asked.every(({ count }) => count === 0);
}
