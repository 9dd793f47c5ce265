// Readiness of one service: whether MongoDB answers and allows reads and writes, and whether nats-server syncs a message to disk
// before the ack. The gateway asks over NATS, so a service that answers is connected to NATS.
import { setTimeout as wait } from 'node:timers/promises';
import { Failure, healthSubject, notesSubject, type ServiceName } from '@integration-sync/contracts';
import type { Bus, BusHandler } from './bus/index.ts';
import { askMonitor } from './nats-monitor.ts';
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
