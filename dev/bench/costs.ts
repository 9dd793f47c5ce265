// The table below each figure of a benchmark: the processor time of a push, page or delivery, by process, and how busy
// other work kept the machine.
import { otherShare, processors, spentBy, spentWhere, type Spent } from './cpu.ts';
import { tableOf, type Row } from './table.ts';

export interface Cost {
  name: string;
  spent: Spent;
  /** The number of pushes, pages or deliveries for which the time was spent. */
  count: number;
  /** The processes whose time is summed up; all processes unless given. */
  own?: readonly string[];
}

export interface CostUnit {
  /** The name of what is counted: `push`. */
  one: string;
  in?: 'ms' | 'µs';
}

export function costTable(costs: readonly Cost[], { one, in: unit = 'ms' }: CostUnit): string[] {
  const per = (ms: number, { count }: Cost): string => {
    if (ms === 0) return '';
    return unit === 'µs' ? ((ms * 1_000) / count).toFixed(1) : (ms / count).toFixed(2);
  };
  const rowOf = (title: string, msOf: (cost: Cost) => number): Row => [
    title,
    ...costs.map((cost) => per(msOf(cost), cost)),
  ];
  const names = [...new Set(costs.flatMap(({ spent }) => [...spent.byProcess.keys()]))].filter((name) =>
    costs.some((cost) => tookPart(cost, name)),
  );
  const others = (cost: Cost): number => spentWhere(cost.spent, (name) => !tookPart(cost, name));
  return [
    '',
    ...tableOf(
      [`${unit} of processor time per ${one}`, ...costs.map(({ name }) => name)],
      [
        ...names.map((name) =>
          rowOf(`  ${name}`, (cost) => (tookPart(cost, name) ? spentBy(cost.spent, name) : 0)),
        ),
        rowOf('  all of them', (cost) => spentWhere(cost.spent, (name) => tookPart(cost, name))),
        ...(costs.some((cost) => others(cost) > 0) ? [rowOf('idle beside them', others)] : []),
        [
          `other work, of ${processors} processors`,
          ...costs.map(({ spent }) => `${(otherShare(spent) * 100).toFixed(0)} %`),
        ],
      ],
    ),
  ];
}

const tookPart = ({ own }: Cost, name: string): boolean => own?.includes(name) ?? true;
