// A mirror that follows `changedSince`: in the end it has every record in its last version, and each change has the time of
// its push.
import type { Mirrored } from '../customers/readers.ts';
import type { AskLine, StoredLine } from '../lines.ts';
import type { History } from './history.ts';
import { openDates } from './times.ts';
import type { Report } from './violations.ts';

/** Dates have whole milliseconds. */
const roundingMs = 2;

export function checkMirror(
  { pushes, bySync }: History,
  { asks, stored }: { asks: readonly AskLine[]; stored: readonly StoredLine[] },
  report: Report,
): void {
  const toLedger = openDates(pushes);
  const byMirror = Map.groupBy(
    asks.filter(({ by }) => by.startsWith('mirror ')),
    ({ by }) => by,
  );
  for (const [by, pages] of byMirror) {
    const mirrored = new Map<string, string>();
    for (const { answer, endedMs } of pages) {
      const { records = [] }: { records?: readonly Mirrored[] } = Object(answer);
      for (const [internalId, version, changedAt] of records) {
        mirrored.set(internalId, version);
        const push = bySync.get(version);
        const atMs = toLedger(changedAt);
        if (atMs >= (push?.begunMs ?? 0) - roundingMs && atMs <= endedMs + roundingMs) continue;
        const what = `${by}: ${internalId} changed at ${changedAt}, and push ${push?.id} began at ${push?.begunAt}`;
        report({ class: 'mirror', what });
      }
    }
    for (const { integration, plural, internalId, push: version } of stored) {
      if (integration !== pages[0]?.integration || by !== `mirror ${plural}`) continue;
      if (mirrored.get(internalId) === version) continue;
      const what = `${by}: ${internalId} was last seen as ${mirrored.get(internalId)}, and is ${version}`;
      report({ class: 'mirror', what });
    }
  }
}
