// Readiness of one service: whether MongoDB answers and allows reads and writes, and whether nats-server syncs a message to disk
// before the ack. The gateway asks over NATS, so a service that answers is connected to NATS.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure, healthSubject, notesSubject, type ServiceName } from '@integration-sync/contracts';
import type { Registry } from 'prom-client';
import type { Bus, BusHandler, StreamStanding } from './bus/index.ts';
import { gaugeByLabel } from './gauges.ts';
import type { Log } from './log.ts';
import { askMonitor } from './nats-monitor.ts';
import { openPeriodicCheck } from './periodic-check.ts';
import type { StoreProof } from './store/index.ts';

export interface HealthOptions {
  service: ServiceName;
  proof: Pick<StoreProof, 'prove'>;
  /** Address of nats-server's monitoring, to check that nats-server syncs each message to its disk. */
  natsMonitorUrl?: string | undefined;
  /** A further check of the service, which throws a `Failure` if the service is not ready. */
  check?: () => void;
}

const patienceMs = 1_000;
/** How long the answer of nats-server's monitoring is kept: its settings change only with a restart. */
const durabilityKeptMs = 30_000;

/** The handler of the readiness check, which every service serves beside its own handlers. */
export function healthHandlers({
  service,
  proof,
  natsMonitorUrl,
  check = () => undefined,
}: HealthOptions): Record<string, BusHandler> {
  const durability = openDurability(natsMonitorUrl);
  return {
    [healthSubject(service)]: async () => {
      await Promise.all([within(proof.prove(), 'MongoDB is away.'), durability()]);
      check();
      return { body: JSON.stringify({ status: 'ok' }) };
    },
  };
}

async function within(work: Promise<void>, detail: string): Promise<void> {
  const late = wait(patienceMs, undefined, { ref: false }).then(() => {
    throw new Error(`no answer within ${patienceMs} ms`);
  });
  try {
    await Promise.race([work, late]);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('unavailable', detail, { retryAfterSeconds: 2, cause: error });
  }
}

/** Without `sync_interval: always`, a power cut loses messages that nats-server acknowledged before they were on its disk. */
function openDurability(monitorUrl: string | undefined): () => Promise<void> {
  let checkedAt: number | undefined;
  return async () => {
    if (monitorUrl === undefined) return;
    if (checkedAt !== undefined && performance.now() - checkedAt < durabilityKeptMs) return;
    const facts = await askMonitor(monitorUrl, patienceMs).catch((error: unknown) => {
      // After a good answer services stay ready: only one server of a cluster, or only its monitoring, may be down.
      if (checkedAt !== undefined) return undefined;
      // Every caller sees the detail, and the address of NATS is not public.
      throw new Failure('unavailable', 'The monitoring of NATS does not answer.', {
        cause: new Error(`no answer at ${monitorUrl}`, { cause: error }),
      });
    });
    if (facts === undefined) return;
    if (facts.config?.sync_always !== true) {
      throw new Failure(
        'unavailable',
        'NATS runs without "sync_interval: always" in its jetstream settings, so acknowledged messages can be lost. ' +
          'Set it there, or leave NATS_MONITOR_URL out to accept the risk.',
      );
    }
    checkedAt = performance.now();
  };
}

// Polls /healthz of nats-server, if NATS_MONITOR_URL is set. A nats-server with a full disk keeps its connections and acknowledges
// nothing: only /healthz says why, and only a restart helps.

const everyMs = 5_000;

export function watchNatsHealth(monitorUrl: string | undefined, log: Log, pollMs = everyMs) {
  if (monitorUrl === undefined) return { notes: () => [], [Symbol.asyncDispose]: () => Promise.resolve() };
  const url = new URL('/healthz', monitorUrl);
  let cause: string | undefined;

  const check = async (): Promise<void> => {
    const found = await readHealth(url);
    if (found === undefined || found.cause === cause) return;
    cause = found.cause;
    if (cause === undefined) log.info('nats-server is healthy again');
    else log.error({ cause }, `nats-server is not healthy; ${remedyOf(cause)}`);
  };
  const checks = openPeriodicCheck(check, { what: 'nats-server', everyMs: pollMs, log });

  return {
    /** A sentence that every caller may read, while nats-server is not healthy; the log has the cause. */
    notes: () => (cause === undefined ? [] : [`NATS is not healthy; ${remedyOf(cause)}.`]),
    [Symbol.asyncDispose]: checks[Symbol.asyncDispose],
  };
}

const remedyOf = (cause: string): string =>
  /write error|no space left/.test(cause)
    ? 'its disk took no write: make room there, then restart that nats-server'
    : 'its /healthz and the logs of the services say why';

/** `cause` says why nats-server is not healthy. Resolves with undefined if its monitoring does not answer: nothing is known then. */
async function readHealth(url: URL): Promise<{ cause?: string } | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(patienceMs) });
    const text = await answer.text();
    if (answer.status !== 503) return {};
    const { error }: { error?: unknown } = JSON.parse(text);
    return typeof error === 'string' ? { cause: error } : {};
  } catch {
    return undefined;
  }
}

// The metrics of streams, and the notes on streams that the gateway shows in /readyz. A note does not make a service unready, as
// pushes and listings work without streams.

/** Answers the gateway, which asks for the notes of readiness and the identity of the database. A replica without both is silent. */
export const tellNotes = (
  service: ServiceName,
  bus: Pick<Bus, 'answerAll'>,
  notesNow: () => string[],
  databaseNow: () => string | undefined,
): Disposable =>
  bus.answerAll(notesSubject(service), () => {
    const database = databaseNow();
    const told = [...notesNow(), ...(database === undefined ? [] : [{ database }])];
    return told.length === 0 ? undefined : JSON.stringify(told);
  });

export function observeStreams(registry: Registry, bus: Pick<Bus, 'streamStandings'>): void {
  const open = (name: string, help: string, valueOf: (standing: StreamStanding) => number): void => {
    const read = () => bus.streamStandings().map((one) => [one.stream, valueOf(one)] as const);
    gaugeByLabel(registry, { name, help, label: 'stream', read });
  };
  open('sync_stream_replicas', 'Copies that a stream is set to have.', ({ replicas }) => replicas);
  open(
    'sync_stream_replicas_current',
    'Copies that have all messages of a stream.',
    ({ current }) => current,
  );
  open('sync_stream_has_leader', 'Whether a stream has a leader.', ({ hasLeader }) => (hasLeader ? 1 : 0));
  open(
    'sync_stream_made_seconds',
    'When a stream was last created, in Unix seconds.',
    ({ madeAt }) => madeAt.getTime() / 1_000,
  );
  open(
    'sync_stream_differs',
    'Whether a stream has other copies, days or bytes than the settings of this replica say.',
    ({ differs }) => (differs ? 1 : 0),
  );
}
