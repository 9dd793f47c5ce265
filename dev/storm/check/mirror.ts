// A mirror that follows `changedSince`: in the end it has every record in its last version, and each change has the time of
// its push.
import type { Mirrored } from '../customers/readers.ts';
import type { Check } from './facts.ts';

/** Dates have whole milliseconds. */
const roundingMs = 2;

export const checkMirror: Check = ({ bySync, toLedger, asks, stored }, report) => {
  const ofMirrors = asks.filter(({ by }) => by.startsWith('mirror '));
  for (const [by, pages] of Map.groupBy(ofMirrors, (page) => page.by)) {
    const mirrored = new Map<string, string>();
    for (const { answer, endedMs } of pages) {
      const { records = [] }: { records?: readonly Mirrored[] } = Object(answer);
      for (const [internalId, version, changedAt] of records) {
        mirrored.set(internalId, version);
        const push = bySync.get(version);
        const atMs = toLedger(changedAt);
        if (atMs >= (push?.begunMs ?? 0) - roundingMs && atMs <= endedMs + roundingMs) continue;
        const began = `push ${push?.id} began at ${push?.begunAt}`;
        report('mirror', `${by}: ${internalId} changed at ${changedAt}, and ${began}`);
      }
    }
    for (const { integration, plural, internalId, push: version } of stored) {
      if (integration !== pages[0]?.integration || by !== `mirror ${plural}`) continue;
      const seen = mirrored.get(internalId);
      if (seen !== version)
        report('mirror', `${by}: ${internalId} was last seen as ${seen}, and is ${version}`);
    }
  }
};
