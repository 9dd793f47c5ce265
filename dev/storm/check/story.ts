// What the ledger says of one record around a violation: its pushes, and what was struck meanwhile, oldest first.
import type { FaultLine, Plural } from '../lines.ts';
import { shownName } from './fields.ts';
import type { Write } from './history.ts';

export interface Around {
  fromMs: number;
  toMs: number;
}

const linesMax = 24;
/** A fault that ended this long before may still have had an effect. */
const aftermathMs = 3_000;

export function tellStory(
  { writes, plural }: { writes: readonly Write[]; plural: Plural },
  { fromMs, toMs }: Around,
  faults: readonly FaultLine[] = [],
): string[] {
  const pushes = writes
    .filter(({ push }) => push.endedMs >= fromMs && push.begunMs <= toMs)
    .map((write) => ({ atMs: write.push.begunMs, line: lineOf(write, shownName(plural, write.items)) }));
  const strikes = faults
    .filter(({ atMs, untilMs }) => untilMs >= fromMs - aftermathMs && atMs <= toMs)
    .map(({ atMs, untilMs, kind, target, pid }) => ({
      atMs,
      line: `${seconds(atMs)} to ${seconds(untilMs)} ${kind} ${target} (${pid})`,
    }));
  const all = [...pushes, ...strikes].toSorted((one, other) => one.atMs - other.atMs);
  return all.slice(0, linesMax).map(({ line }) => line);
}

function lineOf({ push, statuses }: Write, name: string): string {
  const said = statuses.filter(Boolean).join('+');
  return `${seconds(push.begunMs)} to ${seconds(push.endedMs)} push ${push.id}: ${push.outcome} ${said}, "${name}" ${push.syncId ?? ''}`;
}

export const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1_000).toFixed(3)} s` : '–');
