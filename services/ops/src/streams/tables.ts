// Streams and consumers as a person reads them.
import type { InspectedFacts, InspectedStream } from '@integration-sync/runtime/bus';
import { bytesInWords, numberInWords, spanInWords, tableOf } from '../output.ts';

export const tablesOf = (streams: readonly InspectedStream[], nowMs: number): string[] => [
  ...streamTable(streams, nowMs),
  '',
  ...consumerTable(streams, nowMs),
];

function streamTable(streams: readonly InspectedStream[], nowMs: number): string[] {
  const headings = ['STREAM', 'COPIES', 'LEADER', 'MESSAGES', 'SIZE', 'AT MOST', 'OLDEST', 'KEPT', ''];
  const rows = streams.map(({ name, isExpected, standing, facts }) => {
    if (facts === undefined) return [name, '–', '–', '–', '–', '–', '–', '–', standing];
    return [
      name,
      copiesInWords(facts),
      facts.leader ?? (facts.cluster === undefined ? 'single server' : 'none'),
      numberInWords(facts.messages),
      bytesInWords(facts.bytes),
      bytesInWords(facts.bytesMax),
      facts.oldestAt === undefined ? '–' : spanInWords(nowMs - facts.oldestAt.getTime()),
      spanInWords(facts.maxAgeMs),
      isExpected ? '' : 'not of this system',
    ];
  });
  return tableOf(headings, rows);
}

function copiesInWords({ replicas, leader, cluster, followers }: InspectedFacts): string {
  const current = followers.filter((one) => one.current && !one.offline).length;
  return `${current + (leader !== undefined || cluster === undefined ? 1 : 0)} of ${replicas}`;
}

function consumerTable(streams: readonly InspectedStream[], nowMs: number): string[] {
  const headings = ['CONSUMER', 'OF', 'WAITING', 'UNACKED', 'AT MOST', 'READERS', 'LAST TAKEN', ''];
  const rows = streams.flatMap(({ name: stream, consumers }) =>
    consumers.map(({ name, isLasting, facts }) => {
      const { pending, unacknowledged, unacknowledgedMax, readersWaiting, lastHandedOutAt } = facts;
      return [
        name,
        stream,
        numberInWords(pending),
        numberInWords(unacknowledged),
        unacknowledgedMax === Infinity ? 'no limit' : numberInWords(unacknowledgedMax),
        numberInWords(readersWaiting),
        lastHandedOutAt === undefined ? 'never' : `${spanInWords(nowMs - lastHandedOutAt.getTime())} ago`,
        isLasting ? '' : 'goes with its reader',
      ];
    }),
  );
  return tableOf(headings, rows);
}
