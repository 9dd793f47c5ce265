// Whether a record is in none of the kinds that the page asks for. Pure.

interface Found {
  /** Whether the token does not allow to ask. */
  isOff: boolean;
  /** Undefined until the answer is there. */
  count: number | undefined;
}

export function isNowhere(kinds: readonly Found[]): boolean {
  const asked = kinds.filter(({ isOff }) => !isOff);
  return asked.length > 0 && asked.every(({ count }) => count === 0);
}
