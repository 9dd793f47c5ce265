// Readiness of one service: whether the engines behind it answer and keep what they are given. Asked over the
// bus by the gateway, so a service that answers has its NATS; what is checked here is the rest.
import { Failure, healthSubject, notesSubject, type ServiceName } from '@integration-sync/contracts';
import { Gauge, type Registry } from 'prom-client';
import type { Bus, BusHandler, ServiceOptions, StreamStanding } from './bus/index.ts';
import type { Log } from './log.ts';
import { openPeriodicCheck } from './periodic-check.ts';
import type { Store } from './store/index.ts';

export interface HealthOptions {
  service: ServiceName;
  store: Store;
  /** Where nats-server's monitoring answers, when it is to be asked how it keeps messages. */
  natsMonitorUrl?: string | undefined;
  /** Throws the `Failure` for what else this service needs. */
  check?: () => void;
}

const patienceMs = 1_000;
/** A server does not change its settings while it runs, so it is asked again only after a while. */
const durabilityKeptMs = 30_000;

/** Handlers to serve beside a service's own. */
export function healthHandlers({
  service,
  store,
  natsMonitorUrl,
  check = () => undefined,
}: HealthOptions): Record<string, BusHandler> {
  const durability = openDurability(natsMonitorUrl);
  return {
    [healthSubject(service)]: async () => {
      await Promise.all([within(store.ping(), 'MongoDB is away.'), durability()]);
      check();
      return { body: JSON.stringify({ status: 'ok' }) };
    },
  };
}

const startMs = 1_000;

/** Where a start takes longer, the service answers meanwhile what it waits for. */
export async function answerWhileStarting<T>(
  bus: Pick<Bus, 'serve' | 'streamNotes'>,
  identity: Pick<ServiceOptions, 'version' | 'revision' | 'description'> & { service: ServiceName },
  start: Promise<T>,
): Promise<T> {
  const late = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => late.resolve('late'), startMs);
  try {
    if ((await Promise.race([start, late.promise])) !== 'late') return await start;
  } finally {
    clearTimeout(timer);
  }
  const subject = healthSubject(identity.service);
  const answer: BusHandler = async () => {
    const detail = ['It is starting.', ...bus.streamNotes()].join(' ');
    throw new Failure('unavailable', detail, { retryAfterSeconds: 2 });
  };
  const handlers = { [subject]: answer };
  await using _answering = await bus.serve({ ...identity, inFlightMax: 1, handlers, quiet: [subject] });
  return await start;
}

async function within(work: Promise<void>, detail: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${patienceMs} ms`)), patienceMs);
  try {
    await Promise.race([work, late.promise]);
  } catch (error) {
    throw new Failure('unavailable', detail, { retryAfterSeconds: 2, cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A nats-server acknowledges what it has not yet written to the disk unless it runs with `sync_interval: always`,
 * and then a power cut loses acknowledged pushes' events. A service behind such a server is not ready.
 */
function openDurability(monitorUrl: string | undefined): () => Promise<void> {
  let checkedAt: number | undefined;
  return async () => {
    if (monitorUrl === undefined) return;
    if (checkedAt !== undefined && performance.now() - checkedAt < durabilityKeptMs) return;
    const answer = await fetch(new URL('/jsz?config=1', monitorUrl), {
      signal: AbortSignal.timeout(patienceMs),
    }).catch((error: unknown) => {
      // It kept everything when it was last asked. One server of several that is down, or nothing but its
      // monitoring, is no reason to take everything out of service.
      if (checkedAt !== undefined) return undefined;
      // The detail is shown to everybody, and where NATS is, is not for everybody.
      throw new Failure('unavailable', 'The monitoring of NATS does not answer.', {
        cause: new Error(`no answer at ${monitorUrl}`, { cause: error }),
      });
    });
    if (answer === undefined) return;
    const facts: { config?: { sync_always?: boolean } } = JSON.parse(await answer.text());
    if (facts.config?.sync_always !== true) {
      throw new Failure(
        'unavailable',
        'NATS runs without "sync_interval: always" in its jetstream settings, so that what it acknowledges can be lost. ' +
          'Set it there, or leave NATS_MONITOR_URL out to accept that.',
      );
    }
    checkedAt = performance.now();
  };
}

// What nats-server says of its own health, where NATS_MONITOR_URL names its monitoring. A nats-server without room on its
// disk stays connected and acknowledges nothing; only /healthz says why, and only a restart ends it.

export interface NatsHealth extends AsyncDisposable {
  /** A sentence where nats-server is not healthy, for everybody to read; the log has the cause. */
  notes(): string[];
}

const everyMs = 5_000;

export function watchNatsHealth(monitorUrl: string | undefined, log: Log, pollMs = everyMs): NatsHealth {
  if (monitorUrl === undefined) return { notes: () => [], [Symbol.asyncDispose]: () => Promise.resolve() };
  const url = new URL('/healthz', monitorUrl);
  const stopping = new AbortController();
  let cause: string | undefined;

  const check = async (): Promise<void> => {
    const found = await causeOf(url, stopping.signal);
    if (found === cause || stopping.signal.aborted) return;
    cause = found;
    if (cause === undefined) log.info('nats-server is healthy again');
    else log.error({ cause }, `nats-server is not healthy; ${remedyOf(cause)}`);
  };
  const checks = openPeriodicCheck(check, { what: 'nats-server', everyMs: pollMs, log });

  return {
    notes: () => (cause === undefined ? [] : [`NATS is not healthy; ${remedyOf(cause)}.`]),
    [Symbol.asyncDispose]() {
      stopping.abort();
      return checks[Symbol.asyncDispose]();
    },
  };
}

const remedyOf = (cause: string): string =>
  /write error|no space left/.test(cause)
    ? 'its disk took no write: make room there, then restart that nats-server'
    : 'its /healthz and the logs of the services say why';

/** Undefined where nats-server is healthy, and where nothing is known: its monitoring does not answer. */
async function causeOf(url: URL, signal: AbortSignal): Promise<string | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]) });
    const text = await answer.text();
    if (answer.status !== 503) return undefined;
    const { error }: { error?: unknown } = JSON.parse(text);
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

// What a service with streams tells of them: its gauges, and the notes that the gateway shows in /readyz. Nothing of it
// makes a service unready, as pushes and listings work without.

/** Every replica that has notes answers with them. */
export const tellNotes = (
  service: ServiceName,
  bus: Pick<Bus, 'answerAll'>,
  notesNow: () => string[],
): Disposable =>
  bus.answerAll(notesSubject(service), () => {
    const notes = notesNow();
    return notes.length === 0 ? undefined : JSON.stringify(notes);
  });

export function observeStreams(registry: Registry, bus: Pick<Bus, 'streamStandings'>): void {
  const open = (name: string, help: string, read: (standing: StreamStanding) => number): void => {
    const gauge = new Gauge({
      name,
      help,
      labelNames: ['stream'],
      registers: [registry],
      collect() {
        gauge.reset();
        for (const standing of bus.streamStandings()) gauge.set({ stream: standing.stream }, read(standing));
      },
    });
  };
  open('sync_stream_replicas', 'Copies that a stream is set to have.', ({ replicas }) => replicas);
  open('sync_stream_replicas_current', 'Copies that have all of a stream.', ({ current }) => current);
  open('sync_stream_has_leader', 'Whether a stream has a leader.', ({ hasLeader }) => (hasLeader ? 1 : 0));
  open(
    'sync_stream_differs',
    'Whether a stream has other copies, days or bytes than the settings of this replica say.',
    ({ differs }) => (differs ? 1 : 0),
  );
}
