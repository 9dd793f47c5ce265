// The table below each figure of a benchmark: the processor time of a push, page or delivery, by process and group of
// threads, and how busy other work kept the machine.
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

interface CostUnit {
  /** The name of what is counted: `push`. */
  one: string;
  in?: 'ms' | 'µs';
}

const columnsMax = 5;
/** A group of threads with less than this share of its process is shown under "other threads". */
const shareMin = 0.03;

export function costTables(costs: readonly Cost[], { one, in: unit = 'ms' }: CostUnit): string[] {
  const lines: string[] = [];
  for (let from = 0; from < costs.length; from += columnsMax) {
    const some = costs.slice(from, from + columnsMax);
    const head = [`${unit} of processor time per ${one}`, ...some.map(({ name }) => name)];
    const factor = unit === 'µs' ? 1_000 : 1;
    lines.push('', ...tableOf(head, rowsOf(some, factor)));
  }
  return lines;
}

function rowsOf(costs: readonly Cost[], factor: number): Row[] {
  const per = (ms: number, { count }: Cost): string =>
    ms === 0 ? '' : ((ms * factor) / count).toFixed(factor === 1 ? 2 : 1);
  const names = new Set(costs.flatMap(({ spent }) => [...spent.byProcess.keys()]));
  const rows: Row[] = [];
  for (const name of names) {
    const takingPart = costs.filter((cost) => tookPart(cost, name));
    if (takingPart.length === 0) continue;
    const rowOf = (title: string, msIn: (spent: Spent) => number): Row => [
      title,
      ...costs.map((cost) => (tookPart(cost, name) ? per(msIn(cost.spent), cost) : '')),
    ];
    rows.push(rowOf(`  ${name}`, (spent) => spentBy(spent, name)));
    const groups = groupsOf(takingPart, name);
    if (groups.length < 2) continue;
    for (const group of groups) {
      rows.push(rowOf(`    ${group}`, (spent) => groupMs(spent, name, group, groups)));
    }
  }
  const sums = costs.map((cost) => sumOf(cost));
  rows.push(['  all of them', ...costs.map((cost, at) => per(sums[at]?.own ?? 0, cost))]);
  if (sums.some(({ beside }) => beside > 0)) {
    rows.push(['idle beside them', ...costs.map((cost, at) => per(sums[at]?.beside ?? 0, cost))]);
  }
  const share = ({ spent }: Cost): string => `${(otherShare(spent) * 100).toFixed(0)} %`;
  rows.push([`other work, of ${processors} processors`, ...costs.map(share)]);
  return rows;
}

const tookPart = ({ own }: Cost, name: string): boolean => own?.includes(name) ?? true;

const sumOf = (cost: Cost): { own: number; beside: number } => ({
  own: spentWhere(cost.spent, (name) => tookPart(cost, name)),
  beside: spentWhere(cost.spent, (name) => !tookPart(cost, name)),
});

const others = 'other threads';

/** The groups of threads of a process that get a row, the largest first. */
function groupsOf(costs: readonly Cost[], name: string): string[] {
  const sums = new Map<string, number>();
  for (const { spent } of costs) {
    for (const [group, ms] of spent.byProcess.get(name) ?? []) sums.set(group, (sums.get(group) ?? 0) + ms);
  }
  const all = [...sums.values()].reduce((sum, ms) => sum + ms, 0);
  const used = [...sums].filter(([, ms]) => ms > 0);
  const sorted = used.toSorted(([, one], [, other]) => other - one);
  const large = sorted.filter(([, ms]) => ms >= all * shareMin).map(([group]) => group);
  return large.length === used.length ? large : [...large, others];
}

function groupMs(spent: Spent, name: string, group: string, shown: readonly string[]): number {
  const groups = spent.byProcess.get(name);
  if (group !== others) return groups?.get(group) ?? 0;
  return [...(groups ?? [])].reduce((sum, [one, ms]) => sum + (shown.includes(one) ? 0 : ms), 0);
}
