// The report of a comparison: the rate of each contender beside the service's, and the processor time of each.
import { costTable, type Cost, type CostUnit } from './costs.ts';
import type { Compared } from './measure.ts';
import { tableOf } from './table.ts';

export interface Comparison extends CostUnit {
  what: string;
  /** The number of pushes or deliveries in a turn. */
  count: number;
  turns: number;
  /** Those contenders that are the service itself. Every rate is compared with their rates. */
  ours: readonly [string, ...string[]];
  /** By contender: at least how many times the contender's rate the first of `ours` must reach. */
  wanted?: Readonly<Record<string, number>>;
  /** The processes of a contender. */
  own: (name: string) => readonly string[];
}

export function reportOfRates(
  compared: ReadonlyMap<string, Compared>,
  { what, count, turns, ours, wanted = {}, own, ...unit }: Comparison,
): string[] {
  const rate = (name: string): number => (count / (compared.get(name)?.medianMs ?? Number.NaN)) * 1_000;
  const verdictOn = (name: string): string => {
    const least = wanted[name];
    if (least === undefined) return '';
    return `≥ ${least}: ${rate(ours[0]) / rate(name) >= least ? 'ok' : 'MISS'}`;
  };
  const rows = Array.from(compared.keys(), (name) => {
    const ratios = ours.map((one) => (rate(one) / rate(name)).toFixed(2));
    return [name, rate(name).toFixed(rate(name) < 100 ? 1 : 0), ...ratios, verdictOn(name)];
  });
  const costs = Array.from(compared, ([name, { spent }]): Cost => ({
    name,
    spent,
    count: count * turns,
    own: own(name),
  }));
  return [
    '',
    ...tableOf([what, 'a second', ...ours.map((one) => `${one} ×`), 'wanted'], rows),
    `medians of ${turns} turns of ${count}`,
    ...costTable(costs, unit),
  ];
}
