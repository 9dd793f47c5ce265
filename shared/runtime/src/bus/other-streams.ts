// Streams of others over subjects of this system: one over `svc.>` stores what callers ask for, one over an inbox what they are
// answered with.
import type { Connection } from './connection.ts';
import { subjectsOfOurs } from './stream-config.ts';

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
