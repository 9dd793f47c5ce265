// What a comparison with rivals prints: the rate of each beside the service's, and what each cost the processors.
import { costTables, type Cost } from './costs.ts';
import type { Compared } from './measure.ts';
import { tableOf } from './table.ts';

interface Comparison {
  /** The name of the service among those compared. */
  ours: string;
  /** What all of them did. */
  what: string;
  one: string;
  several: string;
  /** How many in a turn. */
  count: number;
  turns: number;
  /** Of a rate. */
  digits: number;
  /** How many times as fast as each the service must be at least. */
  wanted: Readonly<Record<string, number>>;
  /** The processes of each. */
  own: (name: string) => readonly string[];
}

export function reportOfRivals(
  compared: ReadonlyMap<string, Compared>,
  { ours, what, one, several, count, turns, digits, wanted, own }: Comparison,
): string[] {
  const rate = (name: string): number => (count / (compared.get(name)?.medianMs ?? Number.NaN)) * 1_000;
  const rows = [...compared.keys()].map((name) => {
    const ratio = rate(ours) / rate(name);
    const least = wanted[name];
    const verdict = least === undefined ? '' : `≥ ${least}: ${ratio >= least ? 'ok' : 'MISS'}`;
    return [name, rate(name).toFixed(digits), ratio.toFixed(2), verdict];
  });
  const costs = Array.from(compared, ([name, { spent }]): Cost => ({
    name,
    spent,
    count: count * turns,
    own: own(name),
  }));
  return [
    '',
    ...tableOf([what, 'a second', 'the service ×', 'wanted'], rows),
    `medians of ${turns} turns of ${count} ${several}`,
    ...costTables(costs, { one }),
  ];
}
