// Groups the errors of a run by reason: the message without its quoted values, which differ from item to item. Pure.

export interface ReasonGroup<E> {
  reason: string;
  errors: E[];
}

/** Groups errors by reason, the largest group first. */
export function groupByReason<E extends { error: string }>(errors: readonly E[]): ReasonGroup<E>[] {
  const groups = Map.groupBy(errors, ({ error }) => reasonOf(error));
  return Array.from(groups, ([reason, of]) => ({ reason, errors: of })).toSorted(
    (one, other) => other.errors.length - one.errors.length,
  );
}

/** A message with “…” for its quoted values. The quoted column before a field stays, as in `"LAND_KZ" (country): `. */
export const reasonOf = (error: string): string =>
  error.replaceAll(
    /("(?:[^"\\]|\\.)*" \(\w+\): )|"(?:[^"\\]|\\.)*(?:"|\\?$)/gs,
    (_, column: string | undefined) => column ?? '“…”',
  );
