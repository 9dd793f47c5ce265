// Every page that was read while the storm went on: none shows what was replaced before, and a caller that polls by
// X-Next-Since is shown every acknowledged push by the end of the first poll that began after its answer.
import type { FaultLine, PageLine, Sighting } from '../lines.ts';
import { keyOf, type History, type RecordHistory } from './history.ts';
import { openOrder, type Order, type Seen } from './order.ts';
import { seconds, tellStory } from './story.ts';
import type { Report, ViolationClass } from './violations.ts';

export interface SeenBy extends Seen {
  reader: string;
  poll: number | null;
}

export function seenByRecord(pages: readonly PageLine[]): Map<string, SeenBy[]> {
  const seen = new Map<string, SeenBy[]>();
  for (const { reader, poll, integration, plural, begunMs, endedMs, entities } of pages) {
    for (const [externalId, name] of entities) {
      const key = keyOf(integration, plural, externalId);
      const sightings = seen.get(key) ?? [];
      sightings.push({ reader, poll, name, begunMs, endedMs });
      seen.set(key, sightings);
    }
  }
  return seen;
}

export interface ReadsChecked {
  seen: readonly SeenBy[];
  final: Sighting | undefined;
  faults: readonly FaultLine[];
}

/** Reports the first wrong read of a record; returns the class of the violation. */
export function checkReads(
  record: RecordHistory,
  { seen, final, faults }: ReadsChecked,
  report: Report,
): ViolationClass | undefined {
  const order = openOrder(record, seen);
  const inTheEnd = final && { name: final[1], begunMs: Infinity, endedMs: Infinity, reader: 'the end' };
  for (const one of [...seen, ...(inTheEnd === undefined ? [] : [inTheEnd])]) {
    const finding = order.judge(one);
    if (finding === undefined) continue;
    const newer = finding.newer === undefined ? '' : `, which ${finding.newer} had replaced`;
    report({
      class: finding.class,
      what: `${record.key}: ${one.reader} saw "${one.name}" of ${finding.shown}${newer}`,
      timeline: [
        ...tellStory(record, { fromMs: finding.sinceMs, toMs: one.endedMs }, faults),
        `${seconds(one.begunMs)} to ${seconds(one.endedMs)} read: "${one.name}"`,
      ],
    });
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
  const begunMs = new Map<string, number>();
  const polls = new Map<string, Poll[]>();
  for (const page of pages) {
    const { reader, poll, integration, plural, isLast } = page;
    if (poll === null) continue;
    const name = `${reader} ${poll}`;
    begunMs.set(name, Math.min(page.begunMs, begunMs.get(name) ?? Infinity));
    if (!isLast) continue;
    const list = `${integration}/${plural}`;
    polls.set(list, [...(polls.get(list) ?? []), { reader, poll, begunMs: begunMs.get(name) ?? 0 }]);
  }
  return polls;
}

export function checkPolls(
  { records }: Pick<History, 'records'>,
  seen: ReadonlyMap<string, readonly SeenBy[]>,
  polls: ReadonlyMap<string, readonly Poll[]>,
  report: Report,
): void {
  for (const record of records.values()) {
    const ofListing = polls.get(`${record.integration}/${record.plural}`) ?? [];
    const sightings = (seen.get(record.key) ?? []).filter(({ poll }) => poll !== null);
    const missed = missedBy(record, sightings, ofListing, openOrder(record, []));
    if (missed !== undefined)
      report({ class: 'poll', what: missed, timeline: tellStory(record, { fromMs: 0, toMs: Infinity }) });
  }
}

function missedBy(
  record: RecordHistory,
  sightings: readonly SeenBy[],
  polls: readonly Poll[],
  order: Order,
): string | undefined {
  for (const { push, acknowledged } of record.writes) {
    const poll = polls.find(({ begunMs }) => begunMs > push.endedMs);
    if (!acknowledged || poll === undefined) continue;
    const isShown = sightings.some(
      (seen) =>
        (seen.poll ?? 0) <= poll.poll &&
        seen.endedMs > push.begunMs &&
        // The value must not be one that this push had replaced.
        order.judge({ ...seen, begunMs: push.endedMs + tick })?.class !== 'stale',
    );
    if (!isShown)
      return `${record.key} of push ${push.id} was not shown by poll ${poll.poll} of ${poll.reader}`;
  }
  return undefined;
}

/** The smallest difference that the clock shows, in milliseconds. */
const tick = 0.001;
