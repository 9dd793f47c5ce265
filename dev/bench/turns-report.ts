// The report of a comparison of two checkouts: rate, times of requests and processor time of each, and the ratio of
// each turn to the other checkout's turn beside it.
import { addSpent, nothingSpent, otherShare, processors, spentBy, type Spent } from './cpu.ts';
import { figuresOf, medianOf, quantile } from './measure.ts';
import { tableOf, type Row } from './table.ts';

export interface Load {
  what: string;
  /** The noun for one request, such as `push`, and its plural. */
  one: string;
  several: string;
  lanes: number;
  /** The number of requests in a turn. */
  requests: number;
}

export interface Turn {
  tookMs: number;
  /** The time of each request until its answer; empty where requests have none. */
  requestMs: number[];
  spent: Spent;
}

/** The n-th turns of both checkouts ran one directly after the other. */
export interface Results {
  ours: Turn[];
  theirs: Turn[];
}

interface Figure {
  name: string;
  of: (turn: Turn) => number;
}

export function reportOfTurns(
  { what, one, several, lanes, requests }: Load,
  { ours, theirs }: Results,
): string[] {
  const perRequest = (ms: (spent: Spent) => number) => (turn: Turn) => ms(turn.spent) / requests;
  const names = [...(ours[0]?.spent.byProcess.keys() ?? [])];
  const figures: Figure[] = [
    { name: `${several} a second`, of: ({ tookMs }) => (requests / tookMs) * 1_000 },
    ...(ours.some((turn) => turn.requestMs.length > 0)
      ? [
          { name: `ms of a ${one}, p50`, of: requestMs(0.5) },
          { name: `ms of a ${one}, p90`, of: requestMs(0.9) },
        ]
      : []),
    {
      name: `ms of processor time per ${one}: gateway and catalog`,
      of: perRequest((spent) => spentBy(spent, 'gateway') + spentBy(spent, 'catalog')),
    },
    ...names.map((name) => ({ name: `  ${name}`, of: perRequest((spent) => spentBy(spent, name)) })),
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
    `medians of ${ours.length} turns of ${requests} ${several}, and of the ratios of turns side by side with their quartiles; ` +
      `other work, the other's idle processes with it, took ${(otherShare(total) * 100).toFixed(0)} % of ${processors} processors`,
  ];
}

const requestMs =
  (share: number) =>
  (turn: Turn): number =>
    quantile(figuresOf(turn.requestMs).ms, share);

const digits = (value: number): string => value.toFixed(value < 100 ? 2 : 1);

/** The median, and the span from the first to the third quartile. */
function spread(ratios: readonly number[]): [string, string] {
  const sorted = figuresOf(ratios).ms;
  const at = (share: number): string => quantile(sorted, share).toFixed(2);
  return [medianOf(ratios).toFixed(2), `${at(0.25)}–${at(0.75)}`];
}
