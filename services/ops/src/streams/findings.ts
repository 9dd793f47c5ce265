// The faults of streams and consumers, and their repairs, in sentences. Pure.
import {
  quantityInWords,
  type InspectedConsumer,
  type InspectedFacts,
  type InspectedStream,
} from '@integration-sync/runtime/bus';
import { fillsSoon, roomFor, type Filling } from '@integration-sync/runtime/filling';
import { bytesInWords, numberInWords, spanInWords, type Row } from '../output.ts';

export interface Finding {
  stream: string;
  consumer?: string;
  what: string;
  toDo: string;
  /** Who repairs the finding: `apply` stands for the command with --apply, `none` for a person. */
  repair: 'apply' | 'none';
}

type Wrong = Omit<Finding, 'stream'>;

export const findingsOf = (
  streams: readonly InspectedStream[],
  fillings: readonly Filling[] = [],
): Finding[] => [
  ...streams.flatMap((stream) =>
    Array.from(wrongWith(stream, streams), (wrong) => ({ stream: stream.name, ...wrong })),
  ),
  ...Array.from(fillings.filter(fillsSoon), (filling) => ({ stream: filling.stream, ...fullSoon(filling) })),
];

const fullSoon = (filling: Filling): Wrong =>
  byHand(
    `${filling.stream} is full in ${timeLeft(filling)} at the rate of the last day, by ${filling.limit}: it takes no events then.`,
    `Limits count bytes before compression. Find which it is, and ${roomFor}.`,
  );

const dayMs = 24 * 60 * 60 * 1000;

const farAwayDays = 3_650;

function timeLeft({ daysLeft }: Filling): string {
  if (daysLeft === Infinity) return 'never';
  return daysLeft > farAwayDays ? `over ${farAwayDays} d` : spanInWords(daysLeft * dayMs);
}

function* wrongWith(stream: InspectedStream, all: readonly InspectedStream[]): Generator<Wrong> {
  const { name, isExpected, standing, facts, consumers } = stream;
  if (!isExpected) {
    yield* otherStream(stream, all);
    return;
  }
  if (standing === 'missing') {
    yield {
      what: `NATS has no stream ${name}.`,
      toDo: `${byItself} makes the stream, empty; so does a running service within 10 s, if its login may.`,
      repair: 'apply',
    };
    return;
  }
  if (standing === 'leaderless')
    yield byHand(
      `NATS has no leader for ${name}: the stream takes and delivers no message.`,
      'Bring nats-servers back: more than half of those that have a copy must be up.',
    );
  yield* differences(stream);
  if (facts !== undefined) {
    yield* copies(name, facts);
    yield* fullness(name, facts);
  }
  for (const consumer of consumers) yield* strangers(name, consumer);
}

const byItself = 'ops streams --apply';

const byHand = (what: string, toDo: string): Wrong => ({ what, toDo, repair: 'none' });
const byApply = (what: string): Wrong => ({ what, toDo: `${byItself} changes the stream.`, repair: 'apply' });

function* otherStream(
  { name, foreign: subjects, copied }: InspectedStream,
  all: readonly InspectedStream[],
): Generator<Wrong> {
  const toDo = `Find out whose it is, then: nats stream rm ${name}`;
  const ours = copied.filter((one) => all.some((other) => other.isExpected && other.name === one));
  if (subjects.length > 0)
    yield byHand(
      `${name} is not of this system, and stores messages of its services on ${subjects.join(', ')}.`,
      toDo,
    );
  if (ours.length > 0)
    yield byHand(`${name} is not of this system, and copies the messages of ${ours.join(', ')}.`, toDo);
}

function* differences({ name, differing, foreign, changes, left }: InspectedStream): Generator<Wrong> {
  if (foreign.length > 0)
    yield byHand(
      `${name} has ${foreign.join(', ')}, which this release does not set.`,
      `Find out who set it, then take it out: nats stream edit ${name} --interactive`,
    );
  if (differing.length > 0) yield byApply(`${name} differs from this release in ${differing.join(', ')}.`);
  for (const { quantity, wanted, found } of changes)
    yield byApply(
      `${name} has ${quantityInWords(quantity, found)}, and by the settings ${quantityInWords(quantity, wanted)}.`,
    );
  for (const { quantity, setting, wanted, found } of left) {
    // The services may have a setting that this command runs without, so the difference need not be a fault.
    if (setting?.isSet === false) continue;
    const says = setting === undefined ? 'this release says' : `${setting.name} says`;
    yield byHand(
      `${name} has ${quantityInWords(quantity, found)}, where ${says} ${quantityInWords(quantity, wanted)}.`,
      `The stream keeps the larger value. STREAMS_MAY_SHRINK=true ${byItself} shrinks the stream; nothing brings the rest back.`,
    );
  }
}

function* copies(name: string, { cluster, replicas, followers }: InspectedFacts): Generator<Wrong> {
  if (cluster !== undefined && replicas === 1) {
    yield byHand(
      `NATS is a cluster and has one copy of ${name}: the stream is gone with one server.`,
      `Give every service STREAM_REPLICAS=3. STREAM_REPLICAS=3 ${byItself} makes the copies now.`,
    );
    return;
  }
  for (const { server, current, offline, behind } of followers) {
    if (offline) yield byHand(`The copy of ${name} on ${server} is offline.`, `Bring ${server} back.`);
    else if (!current)
      yield byHand(
        `The copy of ${name} on ${server} is ${numberInWords(behind)} operations behind.`,
        'The copy catches up by itself; if it does not, restart that server.',
      );
  }
}

const nearlyFull = 0.9;

function* fullness(name: string, { bytes, bytesMax }: InspectedFacts): Generator<Wrong> {
  if (bytes >= bytesMax * nearlyFull)
    yield byHand(
      `${name} has ${bytesInWords(bytes)} of at most ${bytesInWords(bytesMax)}; once full, it refuses messages.`,
      'Raise EVENTS_MAX_BYTES at every service, or lower EVENTS_KEEP_DAYS.',
    );
}

/** Faults of consumers that are not of this system: its readers have pull consumers of EVENTS, and webhooks has none. */
function* strangers(
  stream: string,
  { name: consumer, strangeness, pushesTo }: InspectedConsumer,
): Generator<Wrong> {
  if (strangeness === undefined) return;
  const what =
    strangeness === 'pushes'
      ? `${consumer} on ${stream} pushes to ${pushesTo}, and nats-server may publish to every subject.`
      : `${consumer} on ${stream} is not of this system.`;
  yield { consumer, ...byHand(what, `Find out whose it is, then: nats consumer rm ${stream} ${consumer}`) };
}

// Tables of streams and consumers for a person.

type Table = [headings: string[], rows: Row[]];

export function streamTable(
  streams: readonly InspectedStream[],
  fillings: readonly Filling[],
  nowMs: number,
): Table {
  const fullIn = new Map(fillings.map((one) => [one.stream, timeLeft(one)]));
  const headings = [
    'STREAM',
    'COPIES',
    'LEADER',
    'MESSAGES',
    'SIZE',
    'AT MOST',
    'FULL IN',
    'OLDEST',
    'KEPT',
    '',
  ];
  const rows = streams.map(({ name, isExpected, standing, facts }) => {
    if (facts === undefined) return [name, '–', '–', '–', '–', '–', '–', '–', '–', standing];
    return [
      name,
      copiesInWords(facts),
      facts.leader ?? (facts.cluster === undefined ? 'single server' : 'none'),
      numberInWords(facts.messages),
      bytesInWords(facts.bytes),
      bytesInWords(facts.bytesMax),
      fullIn.get(name) ?? '–',
      facts.oldestAt === undefined ? '–' : spanInWords(nowMs - facts.oldestAt.getTime()),
      spanInWords(facts.maxAgeMs),
      isExpected ? '' : 'not of this system',
    ];
  });
  return [headings, rows];
}

function copiesInWords({ replicas, leader, cluster, followers }: InspectedFacts): string {
  const current = followers.filter((one) => one.current && !one.offline).length;
  return `${current + (leader !== undefined || cluster === undefined ? 1 : 0)} of ${replicas}`;
}

export function consumerTable(streams: readonly InspectedStream[], nowMs: number): Table {
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
        isLasting ? '' : 'removed after its reader',
      ];
    }),
  );
  return [headings, rows];
}
