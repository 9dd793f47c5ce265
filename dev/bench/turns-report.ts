// What a comparison of two checkouts prints: the rate, the times of pushes and the processor time of each, and of each turn
// what it was beside the other's.
import { addSpent, nothingSpent, otherShare, processors, spentBy, type Spent } from './cpu.ts';
import { figuresOf, medianOf, quantile } from './measure.ts';
import { tableOf, type Row } from './table.ts';

export interface Load {
  what: string;
  items: number;
  lanes: number;
  /** In a turn. */
  pushes: number;
  /** Whether the records are there already, as they are pushed. */
  known: boolean;
}

export interface Turn {
  tookMs: number;
  /** Of each push, from its request to its answer. */
  pushMs: number[];
  spent: Spent;
}

/** The n-th of the one was beside the n-th of the other. */
export interface Results {
  ours: Turn[];
  theirs: Turn[];
}

interface Figure {
  name: string;
  of: (turn: Turn) => number;
}

export function reportOfTurns({ what, lanes, pushes }: Load, { ours, theirs }: Results): string[] {
  const perPush = (ms: (spent: Spent) => number) => (turn: Turn) => ms(turn.spent) / pushes;
  const names = [...(ours[0]?.spent.byProcess.keys() ?? [])];
  const figures: Figure[] = [
    { name: 'pushes a second', of: ({ tookMs }) => (pushes / tookMs) * 1_000 },
    { name: 'ms of a push, p50', of: pushMs(0.5) },
    { name: 'ms of a push, p90', of: pushMs(0.9) },
    {
      name: 'ms of processor time per push: gateway and catalog',
      of: perPush((spent) => spentBy(spent, 'gateway') + spentBy(spent, 'catalog')),
    },
    ...names.map((name) => ({ name: `  ${name}`, of: perPush((spent) => spentBy(spent, name)) })),
  ];
  const rows = figures.map(({ name, of }): Row => {
    const ratios = ours.map((turn, at) => of(turn) / of(theirs[at] ?? turn));
    const [ratio, quartiles] = spread(ratios);
    return [name, digits(medianOf(ours.map(of))), digits(medianOf(theirs.map(of))), ratio, quartiles];
  });
  const total = nothingSpent();
  for (const { spent } of [...ours, ...theirs]) addSpent(total, spent);
  return [
    '',
    ...tableOf([`${what}, ${lanes} in flight`, 'this', 'beside', 'ratio', 'of turns'], rows),
    `medians of ${ours.length} turns of ${pushes} pushes, and of the ratios of turns side by side with their quartiles; ` +
      `other work, the other's idle processes with it, took ${(otherShare(total) * 100).toFixed(0)} % of ${processors} processors`,
  ];
}

const pushMs =
  (share: number) =>
  (turn: Turn): number =>
    quantile(figuresOf(turn.pushMs).ms, share);

const digits = (value: number): string => value.toFixed(value < 100 ? 2 : 1);

/** The median, and from where to where the middle half lies. */
function spread(ratios: readonly number[]): [string, string] {
  const sorted = figuresOf(ratios).ms;
  const at = (share: number): string => quantile(sorted, share).toFixed(2);
  return [medianOf(ratios).toFixed(2), `${at(0.25)}–${at(0.75)}`];
}
