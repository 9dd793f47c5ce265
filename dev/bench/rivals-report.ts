// The report of a comparison with rivals: each rate beside that of the service, and the processor time of each.
import { costTable, type Cost } from './costs.ts';
import type { Compared } from './measure.ts';
import { tableOf } from './table.ts';

interface Comparison {
  /** The name of this project's service among the contenders. */
  ours: string;
  /** The work that all contenders did. */
  what: string;
  one: string;
  several: string;
  /** The number of pushes or pages in a turn. */
  count: number;
  turns: number;
  /** The decimal places of a rate. */
  digits: number;
  /** By rival, how many times its rate the service must reach at least. */
  wanted: Readonly<Record<string, number>>;
  /** The processes of a contender. */
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
    ...costTable(costs, { one }),
  ];
}
