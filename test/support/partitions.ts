// Integrations in several partitions, what they announce and what becomes of it; and what streams and replicas say of partitions.
import { partitionOf, type DeliveryAttempt } from '@integration-sync/contracts';
import type { Webhooks } from '@integration-sync/webhooks';
import { unpackParcel } from '../../services/webhooks/src/streams/messages.ts';
import { allSpecs } from '../../services/webhooks/src/streams/partitioning.ts';
import { eventually } from './eventually.ts';
import { runOps } from './ops.ts';
import { pause } from './pause.ts';
import { openReceiver, type Receiver } from './receiver.ts';
import type { Client, House } from './webhooks.ts';

export const patienceMs = 60_000;
export const timeout = 120_000;
export const into = (number: number) => ({ DELIVERY_PARTITIONS: String(number) });

const loggedWithinMs = 2_000;
/** Often enough that each change finds events on their way, seldom enough that two processors keep up. */
const announceEveryMs = 50;

/** Every event of every one of its integrations, as it was announced, fanned out and delivered. */
interface Traffic extends AsyncDisposable {
  /** Announces so many events for each integration, one push after the other. */
  announce(count: number): Promise<void>;
  /** Announces on and on, until disposed. */
  announceOn(): AsyncDisposable;
  /** Resolves when each that was announced has been delivered. */
  delivered(): Promise<void>;
  /**
   * How often each was sent that was sent more than once, leaving out what the schedule asks for: a receiver that shares two busy
   * processors with all else may not answer within 10 s.
   */
  doubles(): Promise<number[]>;
  /** By integration: events as they were announced, and as they were fanned out for the first time. */
  announced: Map<string, string[]>;
  fannedOut: Map<string, string[]>;
  readonly receiver: Receiver;
  readonly clients: readonly Client[];
}

/** As many integrations as it takes until each of so many partitions has two. */
function clientsFor(house: House, number: number): Client[] {
  const clients: Client[] = [];
  const perPartition = new Map<number, number>();
  while (perPartition.size < number || perPartition.values().some((count) => count < 2)) {
    const client = house.newClient();
    const partition = partitionOf(client.integration, number);
    if ((perPartition.get(partition) ?? 0) >= 2) continue;
    perPartition.set(partition, (perPartition.get(partition) ?? 0) + 1);
    clients.push(client);
  }
  return clients;
}

/** Events by integration, for a comparison without their order. */
export const sorted = (events: ReadonlyMap<string, readonly string[]>) =>
  new Map([...events].map(([integration, ids]) => [integration, ids.toSorted()]));

export async function openTraffic(house: House, number: number): Promise<Traffic> {
  const stack = new AsyncDisposableStack();
  const receiver = stack.use(await openReceiver());
  const clients = clientsFor(house, number);
  for (const client of clients) await client.register(`${receiver.url}/${client.integration}`);
  const announced = new Map<string, string[]>(clients.map(({ integration }) => [integration, []]));
  const fannedOut = new Map<string, string[]>(clients.map(({ integration }) => [integration, []]));
  // Every reader of the subject gets what a replica publishes to the stream, in the order of publishing.
  stack.use(
    house.bus.listen('deliveries.>', ({ subject, body }) => {
      const events = fannedOut.get(subject.split('.')[1] ?? '');
      for (const { eventId } of unpackParcel({ body })) if (!events?.includes(eventId)) events?.push(eventId);
    }),
  );
  const times = (): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { headers } of receiver.hits) {
      const id = headers['webhook-id'] ?? '';
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  };
  const doubles = async (): Promise<number[]> => {
    const retries = await countRetries(house);
    return times()
      .entries()
      .map(([id, count]) => count - (retries.get(id) ?? 0))
      .filter((count) => count > 1)
      .toArray();
  };
  const missing = (): number => {
    const there = times();
    return announced
      .values()
      .flatMap((ids) => ids)
      .filter((id) => !there.has(id))
      .toArray().length;
  };
  const announce = async (count: number): Promise<void> => {
    for (let push = 0; push < count; push += 1) {
      await Promise.all(
        clients.map(async (client) => announced.get(client.integration)?.push(...(await client.announce(1)))),
      );
    }
  };
  return {
    announce,
    announceOn() {
      const stop = new AbortController();
      const done = (async () => {
        while (!stop.signal.aborted) {
          await announce(1);
          await pause(announceEveryMs);
        }
      })();
      return {
        async [Symbol.asyncDispose]() {
          stop.abort();
          await done;
        },
      };
    },
    async delivered() {
      await eventually(missing, (count) => count === 0, patienceMs);
    },
    async doubles() {
      // What was attempted is in the log a moment later.
      for (const endsAt = performance.now() + loggedWithinMs; performance.now() < endsAt; await pause(100)) {
        if ((await doubles()).length === 0) return [];
      }
      return doubles();
    },
    announced,
    fannedOut,
    receiver,
    clients,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** By event, how often it was tried again after an attempt that failed. Each event goes to one endpoint. */
async function countRetries({ bus }: House): Promise<Map<string, number>> {
  const retries = new Map<string, number>();
  const logged = bus.readStream('ATTEMPTS', { subject: 'attempts.>', from: { sequence: 1 } });
  for await (const { body } of logged) {
    const entries: DeliveryAttempt[] = JSON.parse(Buffer.from(body).toString());
    for (const { eventId, attempt } of entries)
      retries.set(eventId, Math.max(retries.get(eventId) ?? 0, attempt - 1));
  }
  return retries;
}

/** A figure of a replica of this process. */
async function figure(metricsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
}

export const readBy = ({ metricsUrl }: Webhooks): Promise<number> =>
  figure(metricsUrl, 'webhook_partitions_read');

/** Resolves when the replica reads so many partitions. */
export async function reads(replica: Webhooks, count: number): Promise<void> {
  await eventually(
    () => readBy(replica),
    (read) => read === count,
    patienceMs,
  );
}

export const inForce = async ({ bus }: House): Promise<number[]> => [
  (await bus.partitionsOf('BUNDLES', 'bundles')).number,
  (await bus.partitionsOf('DELIVERIES', 'deliveries')).number,
];

export const standing = async (house: House) => ({
  streams: await inForce(house),
  names: await consumerNames(house),
});

async function consumerNames({ nats }: House): Promise<string[]> {
  const { stdout } = await runOps(['streams', '--json'], { NATS_URL: nats.url });
  const { streams }: { streams: { consumers: { name: string }[] }[] } = JSON.parse(stdout);
  return streams.flatMap(({ consumers }) => consumers.map(({ name }) => name));
}

/** Resolves when nats-server has dropped what replicas have acknowledged. */
export async function nothingLeft({ bus }: House): Promise<void> {
  for (const stream of ['BUNDLES', 'DELIVERIES'])
    await eventually(
      async () => (await bus.streamFacts(stream)).messages,
      (messages) => messages === 0,
    );
}

/** As a replica that starts with these settings changes the streams. */
export async function divide(house: House, settings: Parameters<typeof allSpecs>[0]): Promise<void> {
  for (const spec of allSpecs(settings)) await house.bus.ensureStream(spec);
}

/** What the replicas say at readiness. */
export async function notes({ bus }: House): Promise<string> {
  const answers = await bus.askAll('svc.webhooks.health.notes', 500);
  return answers.map((answer) => Buffer.from(answer).toString()).join('\n');
}
