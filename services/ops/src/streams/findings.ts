// What is wrong with streams and consumers, and what mends it. Pure: from what NATS has to sentences.
import {
  quantityInWords,
  type Difference,
  type InspectedConsumer,
  type InspectedStream,
} from '@integration-sync/runtime/bus';
import {
  isBacklogConsumer,
  isPartitionConsumer,
  leftOverConsumers,
} from '@integration-sync/webhooks/operating';
import { bytesInWords, numberInWords, spanInWords } from '../output.ts';

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
/** For so long a consumer that has something may hand out nothing before it is said. */
const unreadMs = 10_000;

export const findingsOf = (streams: readonly InspectedStream[], nowMs: number): Finding[] =>
  streams.flatMap((stream) => {
    if (!stream.isExpected) return ofOthers(stream);
    if (stream.standing === 'missing') return [missing(stream)];
    return [
      ...(stream.standing === 'leaderless' ? [leaderless(stream)] : []),
      ...differing(stream),
      ...copiesOf(stream),
      ...fullness(stream),
      ...stream.consumers.flatMap((consumer) => consumerFindings(stream, consumer, nowMs)),
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

function ofOthers({ name: stream, foreign: subjects }: InspectedStream): Finding[] {
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
  const setting = stream === 'HELD' ? 'HELD_MAX_BYTES' : 'EVENTS_MAX_BYTES';
  return [
    {
      stream,
      what: `${stream} has ${bytesInWords(facts.bytes)} of at most ${bytesInWords(facts.bytesMax)}, and refuses what is more.`,
      toDo: `Raise ${setting} at every service, or have what is held delivered.`,
      repair: 'none',
    },
  ];
}

function consumerFindings(
  { name: stream }: InspectedStream,
  { name: consumer, isExpected, isMissing, differing: names, facts }: InspectedConsumer,
  nowMs: number,
): Finding[] {
  const of = { stream, consumer };
  const apply = { ...of, toDo: `${byItself} changes it.`, repair: 'apply' as const };
  if (isMissing)
    return [{ ...apply, what: `${stream} has no consumer ${consumer}.`, toDo: `${byItself} makes it.` }];
  if (facts === undefined) return [];
  if (!isExpected && !isPartitionConsumer(stream, consumer)) return strangers(stream, consumer, facts);
  const findings: Finding[] = [];
  if (names.length > 0)
    findings.push({
      ...apply,
      what: `${consumer} differs from what this release says in ${names.join(', ')}.`,
    });
  const silentMs = nowMs - (facts.lastHandedOutAt?.getTime() ?? 0);
  if (facts.pending > 0 && facts.readersWaiting === 0 && silentMs > unreadMs)
    findings.push({
      ...of,
      what: `No replica reads ${consumer}: ${numberInWords(facts.pending)} messages wait, the last was taken ${
        facts.lastHandedOutAt === undefined ? 'never' : `${spanInWords(silentMs)} ago`
      }.`,
      toDo: 'Start webhooks, or see what /readyz and its log say.',
      repair: 'none',
    });
  if (facts.unacknowledged >= facts.unacknowledgedMax)
    findings.push({
      ...of,
      what: `${consumer} has ${numberInWords(facts.unacknowledged)} unacknowledged messages, the most that it may have.`,
      toDo: 'Replicas of webhooks are slow: see what they wait for (MongoDB, receivers), or start more of them.',
      repair: 'none',
    });
  return findings;
}

function strangers(
  stream: string,
  consumer: string,
  { pending, unacknowledged }: NonNullable<InspectedConsumer['facts']>,
): Finding[] {
  const isLeftOver = leftOverConsumers.some((one) => one.stream === stream && one.consumer === consumer);
  if (isLeftOver)
    return [
      {
        stream,
        consumer,
        what:
          `The release before has left the consumer ${consumer} on ${stream}, and webhooks reads every event twice for it` +
          (pending + unacknowledged > 0
            ? `; it has ${numberInWords(pending + unacknowledged)} events before it.`
            : '.'),
        toDo:
          'Once all services are upgraded and none will be put back: ops streams --apply --remove-left-over. ' +
          'It removes one that has nothing before it.',
        repair: 'left-over',
      },
    ];
  // Everybody may read EVENTS; the others are for webhooks alone.
  if (stream === 'EVENTS' || isBacklogConsumer(stream, consumer)) return [];
  return [
    {
      stream,
      consumer,
      what: `${consumer} on ${stream} is not of this system; what it takes webhooks does not get.`,
      toDo: `Find out whose it is, then: nats consumer rm ${stream} ${consumer}`,
      repair: 'none',
    },
  ];
}
