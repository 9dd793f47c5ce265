// What is wrong with streams and consumers, and what mends it. Pure: from what NATS has to sentences.
import {
  quantityInWords,
  type Difference,
  type InspectedConsumer,
  type InspectedFacts,
  type InspectedStream,
} from '@integration-sync/runtime/bus';
import { formerStreams } from '@integration-sync/webhooks/operating';
import { bytesInWords, numberInWords, spanInWords, tableOf } from '../output.ts';

/** `apply`: --apply does it. `left-over`: --apply with --remove-left-over does it. `none`: a person does. */
export type Repair = 'apply' | 'left-over' | 'none';

export interface Finding {
  stream: string;
  consumer?: string;
  what: string;
  toDo: string;
  repair: Repair;
}

const nearlyFull = 0.9;

export const findingsOf = (streams: readonly InspectedStream[]): Finding[] =>
  streams.flatMap((stream) => {
    if (!stream.isExpected) return ofOthers(stream);
    if (stream.standing === 'missing') return [missing(stream)];
    return [
      ...(stream.standing === 'leaderless' ? [leaderless(stream)] : []),
      ...differing(stream),
      ...copiesOf(stream),
      ...fullness(stream),
      ...stream.consumers.flatMap((consumer) => consumerFindings(stream, consumer)),
    ];
  });

const byItself = 'ops streams --apply';

const missing = ({ name: stream }: InspectedStream): Finding => ({
  stream,
  what: `NATS has no stream ${stream}.`,
  toDo: `${byItself} makes it, empty; so does a service that runs, within 10 s, where its login may.`,
  repair: 'apply',
});

const leaderless = ({ name: stream }: InspectedStream): Finding => ({
  stream,
  what: `NATS has no leader for ${stream}: it takes and hands out nothing.`,
  toDo: 'Bring nats-servers back: more than half of those that have a copy must be up.',
  repair: 'none',
});

function ofOthers({ name: stream, foreign: subjects, facts }: InspectedStream): Finding[] {
  if (formerStreams.includes(stream)) return [former(stream, facts?.messages ?? 0)];
  if (subjects.length === 0) return [];
  return [
    {
      stream,
      what: `${stream} is not of this system, and stores what its services say on ${subjects.join(', ')}.`,
      toDo: `Find out whose it is, then: nats stream rm ${stream}`,
      repair: 'none',
    },
  ];
}

const former = (stream: string, messages: number): Finding =>
  messages === 0
    ? {
        stream,
        what: `A release before has left ${stream}, which is empty and which nobody uses any more.`,
        toDo: `${byItself} --remove-left-over removes it.`,
        repair: 'left-over',
      }
    : {
        stream,
        what: `A release before has left ${numberInWords(messages)} messages in ${stream}, which this release does not deliver.`,
        toDo: `Have replicas of that release deliver them, or give them up: nats stream rm ${stream}`,
        repair: 'none',
      };

function differing({ name: stream, differing: names, foreign, changes, left }: InspectedStream): Finding[] {
  const findings: Finding[] = [];
  if (foreign.length > 0)
    findings.push({
      stream,
      what: `${stream} has ${foreign.join(', ')}, which this release does not say.`,
      toDo: `Find out who set it, then take it out: nats stream edit ${stream} --interactive`,
      repair: 'none',
    });
  if (names.length > 0)
    findings.push({
      stream,
      what: `${stream} differs from what this release says in ${names.join(', ')}.`,
      toDo: `${byItself} changes it.`,
      repair: 'apply',
    });
  for (const { quantity, wanted, found } of changes)
    findings.push({
      stream,
      what: `${stream} has ${quantityInWords(quantity, found)}, and by the settings ${quantityInWords(quantity, wanted)}.`,
      toDo: `${byItself} changes it.`,
      repair: 'apply',
    });
  // Of a setting that this command was not given, the services may have been given another value.
  for (const one of left) if (one.setting?.isSet !== false) findings.push(more(stream, one));
  return findings;
}

function more(stream: string, { quantity, setting, wanted, found }: Difference): Finding {
  const says = setting === undefined ? 'this release says' : `${setting.name} says`;
  return {
    stream,
    what: `${stream} has ${quantityInWords(quantity, found)}, where ${says} ${quantityInWords(quantity, wanted)}.`,
    toDo: `It keeps what it has. STREAMS_MAY_SHRINK=true ${byItself} takes it away; nothing brings it back.`,
    repair: 'none',
  };
}

function copiesOf({ name: stream, facts }: InspectedStream): Finding[] {
  if (facts === undefined) return [];
  const behind = facts.followers
    .filter(({ current, offline }) => offline || !current)
    .map(({ server, offline, behind: lag }) => ({
      stream,
      what: offline
        ? `The copy of ${stream} on ${server} is offline.`
        : `The copy of ${stream} on ${server} is ${numberInWords(lag)} operations behind.`,
      toDo: offline
        ? `Bring ${server} back.`
        : 'It catches up by itself; if it does not, restart that server.',
      repair: 'none' as const,
    }));
  const isAlone = facts.cluster !== undefined && facts.replicas === 1;
  return isAlone
    ? [
        {
          stream,
          what: `NATS is a cluster and has one copy of ${stream}: it is gone with one server.`,
          toDo: `Give every service STREAM_REPLICAS=3. STREAM_REPLICAS=3 ${byItself} makes the copies now.`,
          repair: 'none' as const,
        },
      ]
    : behind;
}

function fullness({ name: stream, facts }: InspectedStream): Finding[] {
  if (facts === undefined || facts.bytes < facts.bytesMax * nearlyFull) return [];
  return [
    {
      stream,
      what: `${stream} has ${bytesInWords(facts.bytes)} of at most ${bytesInWords(facts.bytesMax)}, and refuses what is more.`,
      toDo: 'Raise EVENTS_MAX_BYTES at every service, or lower EVENTS_KEEP_DAYS.',
      repair: 'none',
    },
  ];
}

/** Everybody may read EVENTS; of the others webhooks alone, without a consumer that lasts. */
function consumerFindings(
  { name: stream }: InspectedStream,
  { name: consumer, isLasting }: InspectedConsumer,
): Finding[] {
  if (stream === 'EVENTS' || !isLasting) return [];
  return [
    {
      stream,
      consumer,
      what: `${consumer} on ${stream} is not of this system.`,
      toDo: `Find out whose it is, then: nats consumer rm ${stream} ${consumer}`,
      repair: 'none',
    },
  ];
}

// Streams and consumers as a person reads them.

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
