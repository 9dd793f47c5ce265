// The lines of the ledger about one record around a violation: its pushes, and the faults meanwhile, oldest first.
import type { FaultLine, Plural } from '../lines.ts';
import { shownName } from './fields.ts';
import type { Write } from './history.ts';
import { seconds } from './times.ts';

const linesMax = 24;
/** A fault that ended this long before may still have had an effect. */
const aftermathMs = 3_000;

export function tellStory(
  { writes, plural }: { writes: readonly Write[]; plural: Plural },
  { fromMs, toMs }: { fromMs: number; toMs: number },
  faults: readonly FaultLine[] = [],
): string[] {
  const pushes = writes
    .filter(({ push }) => push.endedMs >= fromMs && push.begunMs <= toMs)
    .map(({ push: { id, outcome, syncId = '', begunMs, endedMs }, statuses, items }) => {
      const said = `${outcome} ${statuses.filter(Boolean).join('+')}, "${shownName(plural, items)}" ${syncId}`;
      return { atMs: begunMs, untilMs: endedMs, what: `push ${id}: ${said}` };
    });
  const strikes = faults
    .filter(({ atMs, untilMs }) => untilMs >= fromMs - aftermathMs && atMs <= toMs)
    .map(({ atMs, untilMs, kind, target, pid }) => ({ atMs, untilMs, what: `${kind} ${target} (${pid})` }));
  return [...pushes, ...strikes]
    .toSorted((one, other) => one.atMs - other.atMs)
    .slice(0, linesMax)
    .map(({ atMs, untilMs, what }) => `${seconds(atMs)} to ${seconds(untilMs)} ${what}`);
}
