// Events and deliveries in partitions: each is fanned out in the order of its integration and delivered once, while replicas
// come, stop, are killed and stand still, and while the number of partitions changes with something waiting. A
// replica that stops or moves is in this process, one that is killed or frozen is a process of its own.
import { partitionOf } from '@integration-sync/contracts';
import type { Webhooks } from '@integration-sync/webhooks';
import { describe, expect, it } from 'vitest';
import { allSpecs } from '../../../services/webhooks/src/streams/partitioning.ts';
import { unpackParcel } from '../../../services/webhooks/src/streams/messages.ts';
import { eventually } from '../../support/eventually.ts';
import { freeze } from '../../support/freeze.ts';
import { runOps } from '../../support/ops.ts';
import { openReceiver, type Receiver } from '../../support/receiver.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

const patienceMs = 60_000;
const timeout = 120_000;
const into = (number: number) => ({ DELIVERY_PARTITIONS: String(number) });

/** Every event of every one of its integrations, as it was announced, fanned out and delivered. */
interface Traffic extends AsyncDisposable {
  /** Announces so many events for each integration, one push after the other. */
  announce(count: number): Promise<void>;
  /** Announces on and on, until disposed. */
  announceOn(): AsyncDisposable;
  /** Resolves when each that was announced has been delivered. */
  delivered(): Promise<void>;
  /** How often each was delivered that was delivered more than once. */
  doubles(): number[];
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

async function openTraffic(house: House, number: number): Promise<Traffic> {
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
          await new Promise((resolve) => setTimeout(resolve, 20));
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
    doubles: () => [...times().values()].filter((count) => count > 1),
    announced,
    fannedOut,
    receiver,
    clients,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A figure of a replica of this process. */
async function figure(metricsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
}

const readBy = ({ metricsUrl }: Webhooks): Promise<number> => figure(metricsUrl, 'webhook_partitions_read');

/** Resolves when the replica reads so many partitions. */
async function reads(replica: Webhooks, count: number): Promise<void> {
  await eventually(
    () => readBy(replica),
    (read) => read === count,
    patienceMs,
  );
}

const inForce = async ({ bus }: House): Promise<number[]> => [
  (await bus.partitionsOf('BUNDLES', 'bundles')).number,
  (await bus.partitionsOf('DELIVERIES', 'deliveries')).number,
];

const standing = async (house: House) => ({
  streams: await inForce(house),
  names: await consumerNames(house),
});

async function consumerNames({ nats }: House): Promise<string[]> {
  const { stdout } = await runOps(['streams', '--json'], { NATS_URL: nats.url });
  const { streams }: { streams: { consumers: { name: string }[] }[] } = JSON.parse(stdout);
  return streams.flatMap(({ consumers }) => consumers.map(({ name }) => name));
}

/** Resolves when nats-server has dropped what replicas have acknowledged. */
async function nothingLeft({ bus }: House): Promise<void> {
  for (const stream of ['BUNDLES', 'DELIVERIES'])
    await eventually(
      async () => (await bus.streamFacts(stream)).messages,
      (messages) => messages === 0,
    );
}

/** As a replica that starts with these settings changes the streams. */
async function divide(house: House, settings: Parameters<typeof allSpecs>[0]): Promise<void> {
  for (const spec of allSpecs(settings)) await house.bus.ensureStream(spec);
}

/** What the replicas say at readiness. */
async function notes({ bus }: House): Promise<string> {
  const answers = await bus.askAll('svc.webhooks.health.notes', 500);
  return answers.map((answer) => Buffer.from(answer).toString()).join('\n');
}

describe.each([2, 4])('with %i partitions', { timeout }, (number) => {
  it('each event goes out once, in the order of its integration, while replicas come and stop', async () => {
    await using house = await openHouse();
    const first = await house.start({}, into(number));
    await using traffic = await openTraffic(house, number);
    {
      await using _traffic = traffic.announceOn();
      await reads(first, number);
      const second = await house.start({}, into(number));
      await reads(second, number / 2);
      expect(await readBy(first)).toBe(number / 2);
      await pause(500);
      await first[Symbol.asyncDispose]();
      await reads(second, number);
      const third = await house.start({}, into(number));
      await reads(third, number / 2);
      await pause(500);
      await second[Symbol.asyncDispose]();
      await pause(500);
    }
    await traffic.delivered();
    expect(traffic.doubles()).toEqual([]);
    expect(traffic.fannedOut).toEqual(traffic.announced);
    expect(await inForce(house)).toEqual([number, number]);
    await nothingLeft(house);
  });

  it('each event goes out in the order of its integration where a replica is killed', async () => {
    await using house = await openHouse();
    await using killed = await startWebhookProcess({ ...house.environment, ...into(number) });
    const other = await house.start({}, into(number));
    await using traffic = await openTraffic(house, number);
    await reads(other, number / 2);
    {
      await using _traffic = traffic.announceOn();
      await traffic.receiver.received(10 * number, { withinMs: patienceMs });
      await killed.kill();
      await reads(other, number);
      await pause(500);
    }
    await traffic.delivered();
    expect(traffic.fannedOut).toEqual(traffic.announced);
    // What the replica that was killed had in hand, and no more.
    expect(Math.max(0, ...traffic.doubles())).toBeLessThanOrEqual(2);
  });

  it('no event is lost where a replica stands still and wakes', async () => {
    await using house = await openHouse();
    await using asleep = await startWebhookProcess({ ...house.environment, ...into(number) });
    const other = await house.start({}, into(number));
    await using traffic = await openTraffic(house, number);
    await reads(other, number / 2);
    {
      await using _traffic = traffic.announceOn();
      await traffic.receiver.received(10 * number, { withinMs: patienceMs });
      {
        using _asleep = freeze([asleep.pid]);
        await reads(other, number);
        await pause(3_000);
      }
      await reads(other, number / 2);
      await pause(500);
    }
    await traffic.delivered();
    expect(Math.max(0, ...traffic.doubles())).toBeLessThanOrEqual(2);
  });
});

describe('where the number of partitions changes', { timeout }, () => {
  it.each([[[2, 4]], [[4, 2]], [[2, 4, 3]]])(
    'what came under 1 and then %j goes out once, in the order of its integration',
    async (numbers) => {
      await using house = await openHouse();
      const first = await house.start();
      await using traffic = await openTraffic(house, 4);
      await first[Symbol.asyncDispose]();
      await traffic.announce(20);
      for (const number of numbers) {
        await divide(house, { DELIVERY_PARTITIONS: number, STREAMS_MAY_SHRINK: true });
        await traffic.announce(20);
      }
      const [client] = traffic.clients;
      const subjects = await house.bus.countBySubject('BUNDLES', 'bundles.>');
      const ofClient = [...subjects.keys()].filter((subject) => subject.endsWith(`.${client?.integration}`));
      expect(ofClient).toHaveLength(numbers.length + 1);

      const last = into(numbers.at(-1) ?? 1);
      await house.start({}, last);
      await house.start({}, last);
      await traffic.delivered();
      expect(traffic.doubles()).toEqual([]);
      expect(traffic.fannedOut).toEqual(traffic.announced);
      await nothingLeft(house);
    },
  );

  it.each([
    [1, 2],
    [2, 4],
  ])('replicas go on while it is raised from %i to %i', async (before, after) => {
    await using house = await openHouse();
    const first = await house.start({}, into(before));
    await using traffic = await openTraffic(house, after);
    {
      await using _traffic = traffic.announceOn();
      await traffic.receiver.received(10, { withinMs: patienceMs });
      const second = await house.start({}, into(after));
      await reads(second, after / 2);
      await reads(first, after / 2);
      await pause(500);
    }
    await traffic.delivered();
    expect(traffic.doubles()).toEqual([]);
    expect(traffic.fannedOut).toEqual(traffic.announced);
    expect(await inForce(house)).toEqual([after, after]);
    const says = before === 1 ? '1 partition' : `${before} partitions`;
    const note = `A replica has ${says} by DELIVERY_PARTITIONS, where NATS has ${after} partitions of BUNDLES, DELIVERIES;`;
    await eventually(
      () => notes(house),
      (text) => text.includes(`${note} it changed nothing.`),
    );
  });
});

describe('the number of partitions in force', { timeout }, () => {
  it('is 1 where no replica says anything: subjects and consumers have no number', async () => {
    await using house = await openHouse();
    await house.start();
    await using traffic = await openTraffic(house, 2);
    await traffic.announce(2);
    await traffic.delivered();
    const { streams, names } = await standing(house);
    expect(streams).toEqual([1, 1]);
    expect(names).toEqual(['webhook-fanout', 'webhook-deliver']);
  });

  it('stays where a replica has forgotten the setting: that replica reads its share, and is named', async () => {
    await using house = await openHouse();
    const first = await house.start({}, into(4));
    await using traffic = await openTraffic(house, 4);
    const forgetful = await house.start();
    await reads(forgetful, 2);
    await reads(first, 2);
    await traffic.announce(5);
    await traffic.delivered();
    expect((await standing(house)).streams).toEqual([4, 4]);
    const note =
      'A replica has no DELIVERY_PARTITIONS (1 partition), where NATS has 4 partitions of BUNDLES, DELIVERIES; ' +
      'it changed nothing.';
    expect(await notes(house)).toContain(note);
  });

  it('is not lowered by a replica that says fewer, and by an operator only where that is said too', async () => {
    await using house = await openHouse();
    const first = await house.start({}, into(4));
    await first[Symbol.asyncDispose]();
    await house.start({}, into(2));
    expect((await standing(house)).streams).toEqual([4, 4]);
    const apply = (more: Record<string, string>) =>
      runOps(['streams', '--apply'], { NATS_URL: house.nats.url, ...into(2), ...more });
    const refused = await apply({});
    expect(refused.stdout).toContain(
      'BUNDLES has 4 partitions, where DELIVERY_PARTITIONS says 2 partitions.',
    );
    expect((await standing(house)).streams).toEqual([4, 4]);

    await using traffic = await openTraffic(house, 4);
    {
      await using _traffic = traffic.announceOn();
      await traffic.receiver.received(10, { withinMs: patienceMs });
      expect((await apply({ STREAMS_MAY_SHRINK: 'true' })).code).toBe(0);
      expect((await standing(house)).streams).toEqual([2, 2]);
      await pause(1_000);
    }
    await traffic.delivered();
    expect(traffic.doubles()).toEqual([]);
    expect(traffic.fannedOut).toEqual(traffic.announced);
  });
});

it('a replica that reads no partition is ready', { timeout }, async () => {
  await using house = await openHouse();
  const replicas = [
    await house.start({}, into(2)),
    await house.start({}, into(2)),
    await house.start({}, into(2)),
  ];
  await eventually(
    async () => (await Promise.all(replicas.map(readBy))).toSorted((one, other) => one - other),
    (read) => read.join() === '0,1,1',
    patienceMs,
  );
  // Any of them answers.
  for (let n = 0; n < 30; n += 1) {
    const { body } = await house.bus.request('svc.webhooks.health.check', { timeoutMs: 5_000 });
    expect(Buffer.from(body).toString()).toBe('{"status":"ok"}');
  }
});

it('EVENTS is not divided, and other services read there what they always have', { timeout }, async () => {
  await using house = await openHouse();
  await house.start({}, into(4));
  const client = house.newClient();
  const [id = ''] = await client.announce(1);
  const subject = `events.${client.integration}.supplier.created`;
  const [stored] = await Array.fromAsync(
    house.bus.readStream('EVENTS', { subject: 'events.>', from: { sequence: 1 } }),
  );
  expect(stored).toMatchObject({ subject, id });
});
