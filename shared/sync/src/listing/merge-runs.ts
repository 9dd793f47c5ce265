// The newest pushes of several journals as one list. Each journal can say what stands at a rank of its own; the
// ranks in the whole are found by halving, so that a deep page costs a few small questions and no long answer.
import type { RunsFound, RunsQuestion, SyncRun } from '@integration-sync/contracts';

export interface RunSource {
  read(question: RunsQuestion): Promise<RunsFound>;
}

export interface RunsAsked {
  before: string | null;
  skip: number;
  limit: number;
}

export async function readNewest(
  sources: readonly RunSource[],
  { before, skip, limit }: RunsAsked,
): Promise<RunsFound> {
  const first = await readAll(sources, { before, skip: 0, limit: skip === 0 ? limit : 1, counted: true });
  const total = first.reduce((sum, found) => sum + found.total, 0);
  const newest = mergeRuns(first);
  if (skip === 0 || newest[0] === undefined) return { runs: newest.slice(0, limit), total };
  if (skip >= total) return { runs: [], total };
  // What begins from now on must not move the ranks of what is there.
  const upTo = `${newest[0].syncId}~`;
  const skips = await passOver(sources, upTo, skip);
  const found = await Promise.all(
    sources.map((source, index) =>
      source.read({ before: upTo, skip: skips[index] ?? 0, limit, counted: false }),
    ),
  );
  return { runs: mergeRuns(found).slice(0, limit), total };
}

/** How many of each source are among the newest `count` of all. */
async function passOver(sources: readonly RunSource[], before: string, count: number): Promise<number[]> {
  const skips = sources.map(() => 0);
  for (let left = count; left > 0;) {
    const step = Math.max(1, Math.floor(left / sources.length));
    const probes = await Promise.all(
      sources.map((source, index) =>
        source.read({ before, skip: (skips[index] ?? 0) + step - 1, limit: 1, counted: false }),
      ),
    );
    // The source whose `step`th is the newest of all has all of these `step` among the newest `left`.
    const [winner] = mergeRuns(probes);
    if (winner === undefined) break;
    const index = probes.findIndex(({ runs }) => runs.includes(winner));
    skips[index] = (skips[index] ?? 0) + step;
    left -= step;
  }
  return skips;
}

const readAll = (sources: readonly RunSource[], question: RunsQuestion): Promise<RunsFound[]> =>
  Promise.all(sources.map((source) => source.read(question)));

const mergeRuns = (found: readonly RunsFound[]): SyncRun[] =>
  found.flatMap(({ runs }) => runs).toSorted((one, other) => (one.syncId < other.syncId ? 1 : -1));
