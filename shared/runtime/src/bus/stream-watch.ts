// Watches the streams of this process: how many copies each stream has, whether it has a leader, and which notes /readyz shows. The
// watch asks nats-server every five seconds, as other replicas and operators change streams too.
import type { StreamInfo } from '@nats-io/jetstream';
import { openPeriodicCheck } from '../periodic-check.ts';
import type { Connection } from './connection.ts';
import { describeStream, isSilence, strangenessOf, type FoundStream } from './inspect.ts';
import { quantityInWords } from './quantities.ts';
import { codes, isRefusedWith, mendingOf, type Refusal } from './nats-refusals.ts';
import type { StreamSpec } from './stream-config.ts';

export type StreamStanding = ReturnType<typeof standingOf>;

export type StreamWatch = ReturnType<typeof openStreamWatch>;

interface Watched {
  spec: StreamSpec;
  found: FoundStream;
  madeAt: Date;
}

const everyMs = 5_000;
/** How long the note about a refusal stays. A refusal that lasts comes again within this time. */
const refusalKeptMs = 30_000;

export function openStreamWatch(connection: Connection) {
  const watched = new Map<string, Watched>();
  const missing = new Set<string>();
  const refusals = new Map<string, { note: string; untilMs: number }>();
  let said = '';
  let clock: string[] = [];
  const others = openOtherStreams(connection);

  /** Notes the state that nats-server reports for a stream of this process. */
  const saw = (spec: StreamSpec, info: StreamInfo): void => {
    const madeAt = new Date(info.created);
    const before = watched.get(spec.name)?.madeAt ?? madeAt;
    if (before.getTime() !== madeAt.getTime())
      connection.log.warn({ stream: spec.name, madeAt }, 'a stream was created again: its messages are lost');
    watched.set(spec.name, { spec, found: describeStream(info, spec), madeAt });
    missing.delete(spec.name);
    sayWhatIsNew();
  };

  /** One sentence for each problem with the streams of this process. */
  const notes = (): string[] => {
    const all = Array.from(watched.values(), ({ found }) => found);
    const leaderless = namesOf(all, isLeaderless).filter((name) => !missing.has(name));
    const ofStreams = notesOf(all, { missing: [...missing], leaderless, others: others.notes() });
    const refused = refusals.values().filter(({ untilMs }) => untilMs > performance.now());
    return [...new Set([...ofStreams, ...refused.map(({ note }) => note), ...clock])];
  };

  const sayWhatIsNew = (): void => {
    const now = notes();
    if (now.join() === said) return;
    said = now.join();
    if (now.length > 0) connection.log.warn({ notes: now }, 'there are problems with streams');
    else connection.log.info('there are no problems with streams any more');
  };

  const lookAt = async ({ spec, found, madeAt }: Watched): Promise<void> => {
    try {
      const askedAt = Date.now();
      const info = await connection.whileConnected(() => connection.manager.streams.info(spec.name));
      clock = describeClock(info, (askedAt + Date.now()) / 2);
      saw(spec, info);
    } catch (error) {
      connection.log.debug({ err: error, stream: spec.name }, 'a stream could not be inspected');
      const isMissing = isRefusedWith(error, codes.streamNotFound);
      if (isMissing) missing.add(spec.name);
      // Only a stream's leader answers, so silence means that the stream has no leader. `saw` may have noted a newer state.
      if ((isMissing || isSilence(connection, error)) && watched.get(spec.name)?.found === found)
        watched.set(spec.name, { spec, found: { ...found, standing: 'leaderless' }, madeAt });
    }
  };
  const look = async (): Promise<void> => {
    await Promise.all([others.look(), ...watched.values().map(lookAt)]);
    sayWhatIsNew();
  };
  const checks = openPeriodicCheck(look, { what: 'streams', everyMs, log: connection.log });

  return {
    saw,
    notes,
    /** From now on looks for streams of other systems that store subjects of this system. */
    watchOthers: (own: readonly string[]) => others.watch(own),
    /** Notes that the stream is missing and that the login may not create it. */
    isMissing({ name }: StreamSpec): void {
      missing.add(name);
      sayWhatIsNew();
    },
    /** Notes that nats-server refused a change of `what`. The note lasts for 30 s after the last call. */
    refused(what: string, refusal: Refusal): void {
      const mending = mendingOf(refusal) ?? 'the log says why';
      const note = `NATS refuses a ${what.split(' ')[0]}: ${mending}.`;
      refusals.set(what, { note, untilMs: performance.now() + refusalKeptMs });
      sayWhatIsNew();
    },
    granted(what: string): void {
      if (refusals.delete(what)) sayWhatIsNew();
    },
    standings: () => Array.from(watched.values(), standingOf),
    [Symbol.asyncDispose]: checks[Symbol.asyncDispose],
  };
}

const isLeaderless = ({ standing }: FoundStream): boolean => standing === 'leaderless';

function notesOf(
  all: readonly FoundStream[],
  { missing, leaderless, others }: Record<'missing' | 'leaderless' | 'others', readonly string[]>,
): string[] {
  return [
    ...noteOfAll(missing, (names) => `has no ${names}; \`ops streams --apply\` makes what is missing`),
    ...all.flatMap(changesOf),
    ...others,
    ...differencesIn(all),
    ...noteOfAll(
      namesOf(all, isAlone),
      (names) => `is a cluster and has one copy of ${names}; STREAM_REPLICAS=3 makes three`,
    ),
    ...noteOfAll(leaderless, (names) => `has no leader for ${names}`),
  ];
}

const clocksApartMs = 5_000;

/** A note if the clock of this machine and that of nats-server, which is in each answer, are seconds apart. */
function describeClock(info: StreamInfo, ownMs: number): string[] {
  const apartMs = 'ts' in info && typeof info.ts === 'string' ? Math.abs(Date.parse(info.ts) - ownMs) : 0;
  if (!(apartMs > clocksApartMs)) return [];
  return [
    `The clock of a replica and that of NATS are ${Math.round(apartMs / 1_000)} s apart: see NTP on both.`,
  ];
}

/** Whether a cluster has only one copy of the stream. Only servers of a cluster name a cluster. */
const isAlone = ({ facts }: FoundStream): boolean => facts?.replicas === 1 && facts.cluster !== undefined;

const namesOf = (streams: readonly FoundStream[], isMeant: (stream: FoundStream) => boolean): string[] =>
  streams.filter(isMeant).map(({ name }) => name);

/** One note for all streams with the same problem. */
const noteOfAll = (names: readonly string[], say: (names: string) => string): string[] =>
  names.length === 0 ? [] : [`NATS ${say(names.join(', '))}.`];

function changesOf({ name, differing, foreign }: FoundStream): string[] {
  const settings = [...differing, ...foreign];
  if (settings.length === 0) return [];
  return [
    `NATS has ${name} with another ${settings.join(', ')} than this release says: see \`ops streams\`.`,
  ];
}

function standingOf({ found, madeAt }: Watched) {
  const { replicas = 0, cluster, leader, followers = [] } = found.facts ?? {};
  const ofLeader = leader !== undefined || cluster === undefined ? 1 : 0;
  return {
    stream: found.name,
    /** The number of copies that the stream is configured to have. */
    replicas,
    /** How many copies have all messages of the stream. */
    current: ofLeader + followers.filter(({ current, offline }) => current && !offline).length,
    hasLeader: !isLeaderless(found),
    madeAt,
    /** Whether the stream has other copies, days or bytes than the settings of this process say. */
    differs: found.left.length > 0,
  };
}

function differencesIn(all: readonly FoundStream[]): string[] {
  const streams = new Map<string, string[]>();
  for (const { name: stream, left } of all) {
    for (const { quantity, setting, wanted, found } of left) {
      const name = setting?.name ?? 'its release';
      const own = quantityInWords(quantity, wanted);
      const says = setting?.isSet === false ? `has no ${name} (${own})` : `has ${own} by ${name}`;
      const key = `A replica ${says}, where NATS has ${quantityInWords(quantity, found)}`;
      streams.set(key, [...(streams.get(key) ?? []), stream]);
    }
  }
  return Array.from(streams, ([key, names]) => `${key} of ${names.join(', ')}; it changed nothing.`);
}

// A stream of another system over `svc.>` would store requests, and a stream over an inbox would store replies.

/** A login that may not list streams pauses after each third refusal, because nats-server logs each refusal. */
const failuresMax = 3;
const pauseMs = 5 * 60_000;

function openOtherStreams(connection: Connection) {
  let own: ReadonlySet<string> | undefined;
  let notes: string[] = [];
  let failures = 0;
  let notBeforeMs = 0;

  return {
    /** Names the streams of this system; from now on every other stream is inspected. */
    watch(names: readonly string[]): void {
      own = new Set(names);
    },
    notes: (): readonly string[] => notes,
    async look(): Promise<void> {
      if (own === undefined || performance.now() < notBeforeMs) return;
      const names = own;
      try {
        const all = await connection.whileConnected(() => Array.fromAsync(connection.lister.streams.list()));
        failures = 0;
        const ours = all.filter(({ config }) => names.has(config.name));
        const readers = await Promise.all(ours.map((info) => strangeReaders(connection, info)));
        notes = [...all.flatMap((info) => notesOfOther(info, names)), ...readers.flat()];
      } catch (error) {
        failures += 1;
        if (failures % failuresMax === 0) notBeforeMs = performance.now() + pauseMs;
        connection.log.debug(
          { err: error },
          'the streams of this NATS account could not be listed: those of other systems are not checked',
        );
      }
    },
  };
}

function notesOfOther(info: StreamInfo, ours: ReadonlySet<string>): string[] {
  const { name, foreign, copied: all } = describeStream(info, undefined);
  if (ours.has(name)) return [];
  const copied = all.filter((one) => ours.has(one));
  return [
    ...(foreign.length === 0
      ? []
      : [`NATS has a stream ${name} over ${foreign.join(', ')}, which is not of this system.`]),
    ...(copied.length === 0
      ? []
      : [`NATS has a stream ${name} that copies ${copied.join(', ')} and is not of this system.`]),
  ];
}

async function strangeReaders(connection: Connection, { config, state }: StreamInfo): Promise<string[]> {
  if (state.consumer_count === 0) return [];
  const list = () => Array.fromAsync(connection.lister.consumers.list(config.name));
  const consumers = await connection.whileConnected(list);
  return consumers.flatMap((info) => {
    const strangeness = strangenessOf(config.name, info);
    if (strangeness === undefined) return [];
    const what = strangeness === 'pushes' ? `, which pushes to ${info.config.deliver_subject}` : '';
    return [
      `NATS has a consumer ${info.name} of ${config.name}${what === '' ? ' that' : `${what} and`} is not of this system.`,
    ];
  });
}
