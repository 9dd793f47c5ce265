// What the page says of an expected push. Pure.
import type { ShownExpectation } from '../api/shapes.ts';
import { spanOf } from './time.ts';

/** Says of an overdue push `products: nothing for 31 h, expected every 26 h`. */
export function sentenceOfOverdue(kind: string, expected: ShownExpectation, now: number): string {
  const { everyHours, lastPushAt, dueAt } = expected;
  const sinceMs = lastPushAt === null ? Date.parse(dueAt) - everyHours * 3_600_000 : Date.parse(lastPushAt);
  return `${kind}: nothing for ${spanOf(now - sinceMs)}, expected every ${everyHours} h`;
}
