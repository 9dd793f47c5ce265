// How the streams of this process stand: how many copies each has, whether it has a leader, and what is to be said of
// it. It is asked for every five seconds, as other replicas and operators change streams too.
import type { StreamInfo } from '@nats-io/jetstream';
import { openPeriodicCheck } from '../periodic-check.ts';
import type { Connection } from './connection.ts';
import { compareQuantities, quantityInWords, type Difference } from './quantities.ts';
import { mendingOf, type Refusal } from './refusals.ts';
import {
  differences,
  foreignSettings,
  streamConfig,
  subjectsOfOurs,
  type StreamSpec,
} from './stream-config.ts';

export interface StreamStanding {
  stream: string;
  /** Copies that it is set to have. */
  replicas: number;
  /** Copies that have all of it. */
  current: number;
  hasLeader: boolean;
  /** It has other quantities than this process's settings say. */
  differs: boolean;
}

export interface StreamWatch extends AsyncDisposable {
  /** Looks for streams of others over subjects of this system from now on. */
  watchOthers(own: readonly string[]): void;
  /** What nats-server says of a stream of this process. */
  saw(spec: StreamSpec, info: StreamInfo): void;
  /** It is not there, and this process may not make it. */
  isMissing(spec: StreamSpec): void;
  /** nats-server refuses something for as long as this is said again and again. */
  refused(what: string, refusal: Refusal): void;
  granted(what: string): void;
  standings(): StreamStanding[];
  /** A sentence each; none where all is as it should be. */
  notes(): string[];
}

interface Watched {
  spec: StreamSpec;
  standing: StreamStanding;
  left: readonly Difference[];
  isAlone: boolean;
  /** Settings other than this release says, by their names at nats-server. */
  changed: readonly string[];
}

const everyMs = 5_000;
/** What is still refused is said again within this time. */
const refusalKeptMs = 30_000;

export function openStreamWatch(connection: Connection): StreamWatch {
  const watched = new Map<string, Watched>();
  const missing = new Set<string>();
  const refusals = openRefusals();
  let said = '';
  const others = openOtherStreams(connection);

  const saw = (spec: StreamSpec, info: StreamInfo): void => {
    watched.set(spec.name, { spec, ...standingOf(spec, info) });
    missing.delete(spec.name);
    sayWhatIsNew();
  };

  const notes = (): string[] => {
    const all = [...watched.values()];
    return [
      ...new Set([
        ...missingIn(missing),
        ...changesIn(all),
        ...others.notes(),
        ...differencesIn(all),
        ...copiesMissingIn(all),
        ...leadersMissingIn(all),
        ...refusals.words(),
      ]),
    ];
  };

  const sayWhatIsNew = (): void => {
    const now = notes();
    if (now.join() === said) return;
    said = now.join();
    if (now.length > 0) connection.log.warn({ notes: now }, 'streams are not as they should be');
    else connection.log.info('streams are as they should be again');
  };

  const lookAt = async ({ spec, standing }: Watched): Promise<void> => {
    try {
      saw(spec, await connection.whileConnected(() => connection.manager.streams.info(spec.name)));
    } catch (error) {
      connection.log.debug({ err: error, stream: spec.name }, 'a stream cannot be looked at');
      // Its leader answers for a stream. Without a line to NATS nothing is known of it.
      if (connection.connected) standing.hasLeader = false;
      sayWhatIsNew();
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
    watchOthers: (own) => others.watch(own),
    isMissing({ name }) {
      missing.add(name);
      sayWhatIsNew();
    },
    refused(what, refusal) {
      refusals.add(what, refusal);
      sayWhatIsNew();
    },
    granted(what) {
      if (refusals.delete(what)) sayWhatIsNew();
    },
    standings: () => Array.from(watched.values(), ({ standing }) => standing),
    [Symbol.asyncDispose]: () => checks[Symbol.asyncDispose](),
  };
}

/** What nats-server refuses, for as long as it is said again. */
function openRefusals() {
  const refusals = new Map<string, { words: string; untilMs: number }>();
  return {
    add(what: string, refusal: Refusal): void {
      const mending = mendingOf(refusal) ?? 'the log says why';
      const words = `NATS refuses a ${what.split(' ')[0]}: ${mending}.`;
      refusals.set(what, { words, untilMs: performance.now() + refusalKeptMs });
    },
    delete: (what: string): boolean => refusals.delete(what),
    words(): string[] {
      const now = performance.now();
      for (const [what, { untilMs }] of refusals) if (untilMs < now) refusals.delete(what);
      return Array.from(refusals.values(), ({ words }) => words);
    },
  };
}

const missingIn = (names: ReadonlySet<string>): string[] =>
  names.size === 0
    ? []
    : [`NATS has no ${[...names].join(', ')}; \`ops streams --apply\` makes what is missing.`];

function changesIn(watched: readonly Watched[]): string[] {
  return watched
    .filter(({ changed }) => changed.length > 0)
    .map(
      ({ spec, changed }) =>
        `NATS has ${spec.name} with another ${changed.join(', ')} than this release says; \`ops streams\` says more.`,
    );
}

function standingOf(spec: StreamSpec, { config, cluster }: StreamInfo): Omit<Watched, 'spec'> {
  const { left } = compareQuantities(spec, config);
  const hasLeader = cluster === undefined || (cluster.leader ?? '') !== '';
  const followers = cluster?.replicas ?? [];
  return {
    left,
    changed: [...differences(streamConfig(spec), config), ...foreignSettings(spec, config)],
    // A single server names no cluster.
    isAlone: config.num_replicas === 1 && (cluster?.name ?? '') !== '',
    standing: {
      stream: spec.name,
      replicas: config.num_replicas,
      current: (hasLeader ? 1 : 0) + followers.filter(({ current, offline }) => current && !offline).length,
      hasLeader,
      differs: left.length > 0,
    },
  };
}

/** Streams of which the same is to be said are said together. */
function differencesIn(watched: readonly Watched[]): string[] {
  const streams = new Map<string, string[]>();
  for (const { spec, left } of watched) {
    for (const { quantity, setting, wanted, found } of left) {
      const name = setting?.name ?? 'its release';
      const own = quantityInWords(quantity, wanted);
      const says = setting?.isSet === false ? `has no ${name} (${own})` : `has ${own} by ${name}`;
      const key = `A replica ${says}, where NATS has ${quantityInWords(quantity, found)}`;
      streams.set(key, [...(streams.get(key) ?? []), spec.name]);
    }
  }
  return Array.from(streams, ([key, names]) => `${key} of ${names.join(', ')}; it changed nothing.`);
}

function copiesMissingIn(watched: readonly Watched[]): string[] {
  const names = watched.filter(({ isAlone }) => isAlone).map(({ spec }) => spec.name);
  if (names.length === 0) return [];
  return [`NATS is a cluster and has one copy of ${names.join(', ')}; STREAM_REPLICAS=3 makes three.`];
}

function leadersMissingIn(watched: readonly Watched[]): string[] {
  const names = watched.filter(({ standing }) => !standing.hasLeader).map(({ spec }) => spec.name);
  return names.length === 0 ? [] : [`NATS has no leader for ${names.join(', ')}.`];
}

// Streams of others over subjects of this system: one over `svc.>` stores what callers ask for, one over an inbox what they are
// answered with.

export interface OtherStreams {
  /** From now on the streams of this system have these names, and all others are looked at. */
  watch(own: readonly string[]): void;
  look(): Promise<void>;
  notes(): readonly string[];
}

/** A login that may not list streams is refused each time, and nats-server and the log have a line of it. */
const failuresMax = 3;
const pauseMs = 5 * 60_000;

export function openOtherStreams(connection: Connection): OtherStreams {
  let own: ReadonlySet<string> | undefined;
  let notes: string[] = [];
  let failures = 0;
  let notBeforeMs = 0;

  return {
    watch(names) {
      own = new Set(names);
    },
    notes: () => notes,
    async look() {
      if (own === undefined || performance.now() < notBeforeMs) return;
      const names = own;
      try {
        const all = await connection.whileConnected(() => Array.fromAsync(connection.manager.streams.list()));
        failures = 0;
        notes = all
          .filter(({ config }) => !names.has(config.name))
          .flatMap(({ config }) => noteOf(config.name, subjectsOfOurs(config.subjects)));
      } catch (error) {
        failures += 1;
        if (failures % failuresMax === 0) notBeforeMs = performance.now() + pauseMs;
        connection.log.debug({ err: error }, 'the streams of others cannot be looked at');
      }
    },
  };
}

const noteOf = (stream: string, subjects: readonly string[]): string[] =>
  subjects.length === 0
    ? []
    : [`NATS has a stream ${stream} over ${subjects.join(', ')}, which is not of this system.`];
