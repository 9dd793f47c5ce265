// Traffic for tests of partitions: integrations of several partitions, and their events, as announced and as delivered.
import { Failure, partitionOf, type DeliveryAttempt } from '@integration-sync/contracts';
import type { Webhooks } from '@integration-sync/webhooks';
import { eventually } from './eventually.ts';
import { pause } from './pause.ts';
import { openReceiver, type Receiver } from './receiver.ts';
import type { Client, House } from './webhooks.ts';

export const patienceMs = 60_000;
export const timeout = 120_000;

const loggedWithinMs = 2_000;
/** Often enough that each change of owners meets undelivered events, seldom enough that two processors keep up. */
const announceEveryMs = 50;

/** The announced and delivered events of all its integrations. */
interface Traffic extends AsyncDisposable {
  /** Announces `count` events for each integration, one push after the other. */
  announce(count: number): Promise<void>;
  /** Announces on and on, until disposed. */
  announceOn(): AsyncDisposable;
  /** Resolves when each announced event has been delivered. */
  delivered(): Promise<void>;
  /**
   * How often each repeated event was sent, without the retries of failed attempts: on two busy processors, the
   * receiver may not answer within 10 s.
   */
  doubles(): Promise<number[]>;
  /** The ids of the announced events, by integration. */
  announced: Map<string, string[]>;
  readonly receiver: Receiver;
  readonly clients: readonly Client[];
}

/** Clients of integrations in `number` partitions, two in each. */
function clientsFor(house: House, number: number): Client[] {
  const clients = new Map<number, Client[]>();
  for (;;) {
    const full = [...clients.values()].filter(({ length }) => length === 2);
    if (full.length >= number) return full.slice(0, number).flat();
    const client = house.newClient();
    const partition = partitionOf(client.integration);
    const others = clients.get(partition) ?? [];
    if (others.length < 2) clients.set(partition, [...others, client]);
  }
}

/** Resolves with no id if NATS was away: on a busy machine the announcer loses NATS, and its event is not announced. */
const announceOne = (client: Client): Promise<string[]> =>
  client.announce(1).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'unavailable') return [];
    throw error;
  });

export async function openTraffic(house: House, number: number): Promise<Traffic> {
  const stack = new AsyncDisposableStack();
  const receiver = stack.use(await openReceiver());
  const clients = clientsFor(house, number);
  for (const client of clients) await client.register(`${receiver.url}/${client.integration}`);
  const announced = new Map<string, string[]>(clients.map(({ integration }) => [integration, []]));
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
        clients.map(async (client) =>
          announced.get(client.integration)?.push(...(await announceOne(client))),
        ),
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
      // An attempt is in the attempt log a moment after its end.
      for (const endsAt = performance.now() + loggedWithinMs; performance.now() < endsAt; await pause(100)) {
        if ((await doubles()).length === 0) return [];
      }
      return doubles();
    },
    announced,
    receiver,
    clients,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** By event, the number of retries after failed attempts. Each event goes to one endpoint. */
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

/** The value of a metric of a replica in this process. */
async function figure(metricsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
}

export const ownedBy = ({ metricsUrl }: Webhooks): Promise<number> =>
  figure(metricsUrl, 'webhook_partitions_owned');

/** Resolves when the replica owns `count` partitions. */
export async function owns(replica: Webhooks, count: number): Promise<void> {
  await eventually(
    () => ownedBy(replica),
    (owned) => owned === count,
    patienceMs,
  );
}
