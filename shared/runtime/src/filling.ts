// When streams will be full, at the rate of the last day: by their own limit, by that of their account, or by that of their
// nats-server. A full stream refuses events, and pushes stay unannounced until it has room again.
import type { Registry } from 'prom-client';
import type { Bus, Level, Levels } from './bus/index.ts';
import { gaugeByLabel } from './gauges.ts';
import type { Log } from './log.ts';
import { askMonitor } from './nats-monitor.ts';
import { openPeriodicCheck } from './periodic-check.ts';

export interface Filling {
  stream: string;
  /** The days until the stream is full; Infinity if the stream does not grow, or nothing limits it. */
  daysLeft: number;
  /** The name of the limit that the stream will reach first. */
  limit: string;
}

/** A note, an alert and `ops streams` warn if a stream will be full within so many days. */
export const warnDays = 2;

export function fillingsOf({ streams, account }: Levels, server?: Level): Filling[] {
  const total = (copies: (level: Levels['streams'][number]) => number): number =>
    streams.reduce((sum, level) => sum + level.bytesPerDay * copies(level), 0);
  const shared = [
    { limit: '`max_file` of the NATS account', level: account, perDay: total(({ copies }) => copies) },
    ...(server === undefined
      ? []
      : [{ limit: '`max_file_store` of nats-server', level: server, perDay: total(() => 1) }]),
  ];
  return streams.map((level) => {
    const own = { limit: ownLimit(level.stream), level, perDay: level.bytesPerDay };
    const all = [own, ...shared].map(({ limit, level: one, perDay }) => ({
      stream: level.stream,
      daysLeft: daysUntil(one, perDay),
      limit,
    }));
    return all.reduce((soonest, one) => (one.daysLeft < soonest.daysLeft ? one : soonest));
  });
}

const ownLimit = (stream: string): string =>
  stream === 'EVENTS' ? 'EVENTS_MAX_BYTES' : `\`max_bytes\` of ${stream}`;

function daysUntil({ bytes, bytesMax }: Level, bytesPerDay: number): number {
  if (bytes >= bytesMax) return 0;
  return bytesPerDay > 0 ? (bytesMax - bytes) / bytesPerDay : Infinity;
}

export const fillsSoon = ({ daysLeft }: Filling): boolean => daysLeft < warnDays;

export const roomFor = 'give it more, or lower EVENTS_KEEP_DAYS';

/** The time in words, in steps, so that a note does not change with each check. */
const hoursInWords = ({ daysLeft }: Filling): string =>
  `${[1, 3, 6, 12, 24].find((hours) => daysLeft * 24 < hours) ?? warnDays * 24} h`;

const noteOf = (one: Filling): string =>
  `${one.stream} takes no events in less than ${hoursInWords(one)}, at the rate of the last day, by ${one.limit}: ${roomFor}.`;

/** The level of nats-server; undefined without NATS_MONITOR_URL, or if its monitoring does not answer. */
export async function serverLevel(monitorUrl: string | undefined): Promise<Level | undefined> {
  if (monitorUrl === undefined || monitorUrl === '') return undefined;
  const facts = await askMonitor(monitorUrl, monitorPatienceMs).catch(() => undefined);
  const bytesMax = facts?.config?.max_storage ?? 0;
  return facts?.storage === undefined || bytesMax <= 0 ? undefined : { bytes: facts.storage, bytesMax };
}

const monitorPatienceMs = 1_000;
const everyMs = 30_000;

interface ReadOptions {
  bus: Pick<Bus, 'readLevels'>;
  streams: readonly string[];
  monitorUrl: string | undefined;
}

export async function readFillings({ bus, streams, monitorUrl }: ReadOptions): Promise<Filling[]> {
  const [levels, server] = await Promise.all([bus.readLevels(streams), serverLevel(monitorUrl)]);
  return fillingsOf(levels, server);
}

interface WatchOptions extends ReadOptions {
  registry: Registry;
  log: Log;
  pollMs?: number;
}

export function watchFilling({ bus, streams, monitorUrl, registry, log, pollMs = everyMs }: WatchOptions) {
  let seen: readonly Filling[] = [];
  let notes: readonly string[] = [];
  gaugeByLabel(registry, {
    name: 'sync_stream_full_seconds',
    help: 'Seconds until a stream is full at the rate of the last day.',
    label: 'stream',
    read: () => seen.map(({ stream, daysLeft }) => [stream, daysLeft * 86_400]),
  });
  const read = async (): Promise<Filling[]> => {
    try {
      return await readFillings({ bus, streams, monitorUrl });
    } catch (error) {
      log.debug({ err: error }, 'the fill levels of streams could not be read');
      return streams.map((stream) => ({ stream, daysLeft: Number.NaN, limit: '' }));
    }
  };
  const check = async (): Promise<void> => {
    seen = await read();
    const now = seen.filter(fillsSoon).map(noteOf);
    if (now.join() === notes.join()) return;
    notes = now;
    if (now.length > 0) log.warn({ notes }, 'streams will be full soon');
    else log.info('no stream will be full soon');
  };
  const checks = openPeriodicCheck(check, { what: 'the room of streams', everyMs: pollMs, log });
  checks.now();
  return {
    notes: (): readonly string[] => notes,
    [Symbol.asyncDispose]: checks[Symbol.asyncDispose],
  };
}
