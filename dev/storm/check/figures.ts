// The figures of a storm for its report: counts of pushes, records, faults, events and deliveries.
import type { DeliveryLine, EventLine, FaultLine, MemoryLine, PageLine, RunLine } from '../lines.ts';
import type { History } from './history.ts';
import { isAcknowledged } from './push.ts';
import { mostMemory } from './memory.ts';

export interface Figures {
  acknowledgedItems: number;
  lines: readonly (readonly [what: string, figures: string])[];
}

interface Counted {
  pages: readonly PageLine[];
  deliveries: readonly DeliveryLine[];
  faults: readonly FaultLine[];
  memory: readonly MemoryLine[];
  runs: readonly RunLine[];
  events: readonly EventLine[];
  /** The lines of the report on the faults of a cluster (failovers.ts). */
  failovers: Figures['lines'];
}

export function figuresOf(history: History, ledger: Counted): Figures {
  const { pushes, records } = history;
  const acknowledged = pushes.filter(isAcknowledged);
  const acknowledgedItems = acknowledged.reduce((sum, { items }) => sum + items.length, 0);
  const refused = acknowledged.reduce((sum, { answer }) => sum + (answer?.errors.length ?? 0), 0);
  const hot = [...records.values()].filter(({ isPrivate }) => !isPrivate).length;
  const polls = ledger.pages.filter(({ poll, isLast }) => poll !== null && isLast).length;
  const answeredWell = ledger.deliveries.filter(({ status }) => status >= 200 && status < 300).length;
  return {
    acknowledgedItems,
    lines: [
      ['pushes', `${pushes.length}: ${counts(pushes.map(({ outcome }) => String(outcome)))}`],
      ['acknowledged items', `${acknowledgedItems}, of which ${refused} were wrong and refused`],
      ['records', `${records.size}, of which ${hot} were pushed by several callers at once`],
      [
        'faults',
        `${ledger.faults.length}: ${counts(ledger.faults.map(({ target, kind }) => `${kind} ${target}`))}`,
      ],
      ...ledger.failovers,
      ['events', `${ledger.events.length}`],
      ['deliveries', `${ledger.deliveries.length}, of which ${answeredWell} were answered 2xx`],
      ['taken again', repeatsIn(ledger.deliveries)],
      ['pages read', `${ledger.pages.length}, and ${polls} polls to their end`],
      ['runs', `${ledger.runs.length}`],
      [
        'memory at most',
        [...mostMemory(ledger.memory)].map(([name, mb]) => `${name} ${mb.toFixed(0)} MB`).join(', '),
      ],
    ],
  };
}

/** How many deliveries a receiver took more than once, replays included. */
function repeatsIn(deliveries: readonly DeliveryLine[]): string {
  const taken = deliveries.filter(({ status }) => status >= 200 && status < 300);
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
