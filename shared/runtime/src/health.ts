// Readiness of one service: whether the engines behind it answer and keep what they are given. Asked over the
// bus by the gateway, so a service that answers has its NATS; what is checked here is the rest.
import { Failure, healthSubject, type ServiceName } from '@integration-sync/contracts';
import type { Bus, BusHandler, ServiceOptions } from './bus/index.ts';
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
