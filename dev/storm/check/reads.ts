// Checks every page that was read while the storm went on: no page shows a value that was replaced before the
// page was asked for, and a caller that polls by X-Next-Since sees each push at the latest in the first poll that begins after its 200.
import type { Mirrored } from '../customers/readers.ts';
import type { Check, Facts } from './facts.ts';
import type { RecordHistory } from './history.ts';
import { openOrder } from './order.ts';
import { listingOf } from './push.ts';
import { tellStory } from './story.ts';
import { seconds } from './times.ts';
import type { Report, ViolationClass } from './violations.ts';

/** Reports the first wrong read of a record, which stays wrong for every later one; returns the class of the violation. */
export function checkReads(
  record: RecordHistory,
  { seenBy, sightings, faults }: Facts,
  report: Report,
): ViolationClass | undefined {
  const seen = seenBy.get(record.key) ?? [];
  const judge = openOrder(record, seen);
  const [, name] = sightings.get(record.key) ?? [];
  const ends = name === undefined ? [] : [{ name, begunMs: Infinity, endedMs: Infinity, reader: 'the end' }];
  for (const one of [...seen, ...ends]) {
    const finding = judge(one);
    if (finding === undefined) continue;
    const newer = finding.newer === undefined ? '' : `, which ${finding.newer} had replaced`;
    const what = `${record.key}: ${one.reader} saw "${one.name}" of ${finding.shown}${newer}`;
    report(finding.class, what, [
      ...tellStory(record, { fromMs: finding.sinceMs, toMs: one.endedMs }, faults),
      `${seconds(one.begunMs)} to ${seconds(one.endedMs)} read: "${one.name}"`,
    ]);
    return finding.class;
  }
  return undefined;
}

/** The smallest difference that the clock shows, in milliseconds. */
const tick = 0.001;

export function checkPolls(record: RecordHistory, { seenBy, polls }: Facts, report: Report): void {
  const seen = (seenBy.get(record.key) ?? []).filter(({ poll }) => poll !== null);
  const judge = openOrder(record, []);
  for (const { push } of record.writes.filter(({ acknowledged }) => acknowledged)) {
    const poll = polls.get(listingOf(record))?.find(({ begunMs }) => begunMs > push.endedMs);
    if (poll === undefined) continue;
    const isShown = seen.some(
      (one) =>
        (one.poll ?? 0) <= poll.poll &&
        one.endedMs > push.begunMs &&
        // A page that shows a value from before this push does not count.
        judge({ ...one, begunMs: push.endedMs + tick })?.class !== 'stale',
    );
    if (isShown) continue;
    const what = `${record.key} of push ${push.id} was not shown by poll ${poll.poll} of ${poll.reader}`;
    return report('poll', what, tellStory(record, { fromMs: 0, toMs: Infinity }));
  }
}

/** How far a date may be outside of its push, because dates have whole milliseconds. */
const roundingMs = 2;

/** In the end, a client that followed a listing by `changedSince` has every record in its last version, changed when its push ran. */
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
