// The figures of a storm for its report: counts of pushes, records, faults, events and deliveries.
import type { DeliveryLine } from '../lines.ts';
import { describeFaults } from './failovers.ts';
import { isTaken, type Facts } from './facts.ts';
import { mostMemory } from './floor.ts';
import { isAcknowledged } from './push.ts';

export function figuresOf(facts: Facts) {
  const { pushes, records, faults, events, deliveries, pages, runs, memory } = facts;
  const acknowledged = pushes.filter(isAcknowledged);
  const acknowledgedItems = acknowledged.reduce((sum, { items }) => sum + items.length, 0);
  const refused = acknowledged.reduce((sum, { answer }) => sum + (answer?.errors.length ?? 0), 0);
  const hot = [...records.values()].filter(({ isPrivate }) => !isPrivate).length;
  const polls = pages.filter(({ poll, isLast }) => poll !== null && isLast).length;
  const taken = deliveries.filter(isTaken);
  const ofMemory = [...mostMemory(memory)].map(([name, mb]) => `${name} ${mb.toFixed(0)} MB`);
  const lines: readonly (readonly [what: string, figures: string])[] = [
    ['pushes', `${pushes.length}: ${counts(pushes.map(({ outcome }) => String(outcome)))}`],
    ['acknowledged items', `${acknowledgedItems}, of which ${refused} were wrong and refused`],
    ['records', `${records.size}, of which ${hot} were pushed by several callers at once`],
    ['faults', `${faults.length}: ${counts(faults.map(({ target, kind }) => `${kind} ${target}`))}`],
    ...describeFaults(facts),
    ['events', `${events.length}`],
    ['deliveries', `${deliveries.length}, of which ${taken.length} were answered 2xx`],
    ['taken again', repeatsIn(taken)],
    ['pages read', `${pages.length}, and ${polls} polls to their end`],
    ['runs', `${runs.length}`],
    ['memory at most', ofMemory.join(', ')],
  ];
  return { acknowledgedItems, lines };
}

/** How many deliveries a receiver took more than once, replays included. */
function repeatsIn(taken: readonly DeliveryLine[]): string {
  const again = [...Map.groupBy(taken, ({ endpoint }) => endpoint).values()].map(
    (hits) => hits.length - new Set(hits.map(({ event }) => event)).size,
  );
  return `${again.reduce((sum, one) => sum + one, 0)}, of one endpoint ${Math.max(0, ...again)} at most`;
}

function counts(all: readonly string[]): string {
  const groups = [...Map.groupBy(all, (one) => one)].map(([one, found]) => ({ one, count: found.length }));
  const sorted = groups.toSorted((one, other) => other.count - one.count);
  return sorted.map(({ one, count }) => `${count} × ${one}`).join(', ') || 'none';
}
