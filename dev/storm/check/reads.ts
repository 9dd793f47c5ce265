// Every page that was read while the storm went on: none shows what was replaced before, and a caller that polls by
// X-Next-Since is shown every acknowledged push by the end of the first poll that began after its answer.
import type { Mirrored } from '../customers/readers.ts';
import type { FaultLine, PageLine, Sighting } from '../lines.ts';
import type { Check } from './facts.ts';
import type { RecordHistory } from './history.ts';
import { openOrder, type Judge, type Seen } from './order.ts';
import { keyOf, listingOf } from './push.ts';
import { tellStory } from './story.ts';
import { seconds } from './times.ts';
import type { Report, ViolationClass } from './violations.ts';

export interface SeenBy extends Seen {
  reader: string;
  poll: number | null;
}

export const seenByRecord = (pages: readonly PageLine[]): Map<string, SeenBy[]> =>
  Map.groupBy(
    pages.flatMap(({ integration, plural, entities, reader, poll, begunMs, endedMs }) =>
      entities.map(([externalId, name]) => {
        return { key: keyOf(integration, plural, externalId), reader, poll, name, begunMs, endedMs };
      }),
    ),
    ({ key }) => key,
  );

interface Read {
  seen: readonly SeenBy[];
  final: Sighting | undefined;
  faults: readonly FaultLine[];
}

/** Reports the first wrong read of a record; returns the class of the violation. */
export function checkReads(
  record: RecordHistory,
  { seen, final, faults }: Read,
  report: Report,
): ViolationClass | undefined {
  const judge = openOrder(record, seen);
  const inTheEnd = { name: final?.[1] ?? '', begunMs: Infinity, endedMs: Infinity, reader: 'the end' };
  for (const one of final === undefined ? seen : [...seen, inTheEnd]) {
    const finding = judge(one);
    if (finding === undefined) continue;
    const newer = finding.newer === undefined ? '' : `, which ${finding.newer} had replaced`;
    const what = `${record.key}: ${one.reader} saw "${one.name}" of ${finding.shown}${newer}`;
    report(finding.class, what, [
      ...tellStory(record, { fromMs: finding.sinceMs, toMs: one.endedMs }, faults),
      `${seconds(one.begunMs)} to ${seconds(one.endedMs)} read: "${one.name}"`,
    ]);
    // What is wrong once stays wrong for every later read.
    return finding.class;
  }
  return undefined;
}

export interface Poll {
  reader: string;
  poll: number;
  begunMs: number;
}

/** By `integration/plural`, the polls that were read to their last page, oldest first. */
export function completedPolls(pages: readonly PageLine[]): Map<string, Poll[]> {
  const byPoll = Map.groupBy(pages, ({ reader, poll }) => `${reader} ${poll}`);
  const polls = byPoll.values().flatMap((own) => {
    const begunMs = Math.min(...own.map((page) => page.begunMs));
    const last = own.filter(({ isLast }) => isLast);
    return last.flatMap(({ poll, ...page }) => (poll === null ? [] : [{ ...page, poll, begunMs }]));
  });
  return Map.groupBy(polls, listingOf);
}

export function checkPolls(
  record: RecordHistory,
  seen: readonly SeenBy[],
  polls: readonly Poll[],
  report: Report,
): void {
  const ofPolls = seen.filter(({ poll }) => poll !== null);
  const missed = missedBy(record, ofPolls, polls, openOrder(record, []));
  if (missed !== undefined) report('poll', missed, tellStory(record, { fromMs: 0, toMs: Infinity }));
}

function missedBy(
  { key, writes }: RecordHistory,
  sightings: readonly SeenBy[],
  polls: readonly Poll[],
  judge: Judge,
): string | undefined {
  for (const { push } of writes.filter(({ acknowledged }) => acknowledged)) {
    const poll = polls.find(({ begunMs }) => begunMs > push.endedMs);
    if (poll === undefined) continue;
    const isShown = sightings.some(
      (seen) =>
        (seen.poll ?? 0) <= poll.poll &&
        seen.endedMs > push.begunMs &&
        // The value must not be one that this push had replaced.
        judge({ ...seen, begunMs: push.endedMs + tick })?.class !== 'stale',
    );
    if (!isShown) return `${key} of push ${push.id} was not shown by poll ${poll.poll} of ${poll.reader}`;
  }
  return undefined;
}

/** The smallest difference that the clock shows, in milliseconds. */
const tick = 0.001;

/** Dates have whole milliseconds. */
const roundingMs = 2;

/**
 * A mirror that follows `changedSince`: in the end it has every record in its last version, and each change has the time of its push.
 */
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
