// Replicas of batches in this process that push the same batches, and a replica that takes pushes over. Each operation in MongoDB waits until
// a test lets it run. A replica may be killed between any two of them. MongoDB is real, NATS is in memory.
import { randomUUID } from 'node:crypto';
import { eventsStream, requestHeaders } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import type { Store } from '@integration-sync/runtime/store';
import { Registry } from 'prom-client';
import { vi } from 'vitest';
import { batchesKind } from '../../../services/batches/src/batches.ts';
import { steadyClock } from '../../../shared/sync/src/clock.ts';
import { openEngine, openKind } from '../../../shared/sync/src/engine.ts';
import { watchMs } from '../../../shared/sync/src/journal/journal-times.ts';
import { collectionNames } from '../../../shared/sync/src/names.ts';
import { push } from '../../../shared/sync/src/pushing/push.ts';
import { sweep } from '../../../shared/sync/src/recovery/sweeper.ts';
import type { SeenEvent } from '../sync.ts';
import { type Client, type Gates, gatedStore, type Operation } from './gates.ts';
import { openTurns } from './turns.ts';
import { Wire } from './wire.ts';

const service = 'batches';
const { journal: journalName, watermarks } = collectionNames(service);
const collections = ['batches', 'dds', journalName, watermarks];
/** The same in every world, so that internal ids sort in the same way. */
const integration = 'acme';
const log = openLog({ service: 'test', level: 'silent' });
const kind = batchesKind(async (ids) => new Map(ids.map((id) => [id, { hsCode: '4407', country: 'SE' }])));
const config = { PUSHES_AT_ONCE_MAX: 8 } as never;
/** From its start on, the sweeping replica takes every push for left behind. */
const hourMs = 3_600_000;
const stepMs = 20;
/** In so many waits of 20 ms every push has ended. */
const waitsMax = 800;
/** So many waits without an operation: an announced push is noted as such after 200 ms. */
const calmMin = 15;
/** A push is taken over, looked at once more, and, if writes arrived late, taken over and looked at again. */
const looksMax = 8;

export async function openPushes(store: Store) {
  const turns = openTurns();
  const wire = new Wire();
  const gates: Gates = { waiting: [], free: [], isFree: () => false, known: () => undefined };
  const asked: { by: Client; isOver: boolean }[] = [];
  const history: string[] = [];
  const entries = store.collection<{ due?: Date }>(journalName);
  let aheadMs = hourMs;

  const openReplica = async (name: string, now = Date.now) => {
    const opening = new AsyncDisposableStack();
    const client: Client = { name, isCut: false };
    const gated = gatedStore({ ...store, finalRead: {} }, client, gates);
    const bus = wire.busOf({ name, isCut: false, reconnects: 0 });
    Object.assign(bus, { connected: true, ensureStream: async () => undefined });
    const metrics = { registry: new Registry() } as never;
    const resources = { store: gated, bus, metrics, tracing: undefined };
    const engine = await openEngine(
      { service, config, kinds: [kind], log, resources, now: steadyClock(now), onStage: async () => {} },
      opening,
    );
    return { client, engine, of: openKind(kind, gated, log, opening), opening };
  };
  type Replica = Awaited<ReturnType<typeof openReplica>>;
  const replicas = new Map<string, Replica>();

  /** The replica of this name, or its successor if it was killed. */
  const replicaOf = async (name: string, now?: () => number): Promise<Replica> => {
    const known = replicas.get(name);
    if (known !== undefined) return known;
    const opened = await openReplica(name, now);
    replicas.set(name, opened);
    return opened;
  };

  const follow = (by: Client, work: Promise<unknown>, what: string): void => {
    const one = { by, isOver: false };
    asked.push(one);
    const end = (how: string) => () => {
      one.isOver = true;
      history.push(`${what} ${how}`);
    };
    work.then(end('ended'), (error: unknown) => end(String(error))());
  };

  const requestOf = (body: object): BusRequest => {
    const now = performance.now();
    return {
      subject: 'svc.batches.batches.push',
      headers: new Map([[requestHeaders.integration, integration]]),
      body: Buffer.from(JSON.stringify(body)),
      arrivedAtMs: now,
      deadline: Infinity,
      isGivenUp: false,
      waitedForUntilMs: Infinity,
      isWaitedFor: async () => true,
      wait: () => {
        throw new Error('a push waits for no event');
      },
      integration,
      requestId: randomUUID(),
      log,
    };
  };

  const isUnderWay = (): boolean => asked.some(({ by, isOver }) => by.isKilled !== true && !isOver);

  const world = {
    integration,
    gates,
    history,
    async push(name: string, body: object): Promise<void> {
      const { client, engine, of } = await replicaOf(name);
      // No two pushes begin in the same millisecond.
      vi.advanceTimersByTime(1);
      const work = engine.semaphore.run(() => push(engine, of, requestOf(body)), integration);
      history.push(`${name} pushes ${JSON.stringify(body)}`);
      follow(client, work, `${name}'s push`);
      await turns.ended();
    },
    /** A replica, whose clock is ahead, takes over every push that has not ended. */
    async takeOver(): Promise<void> {
      const { client, engine, of } = await replicaOf('sweeper', () => Date.now() + aheadMs);
      const work = sweep(engine, new Map([[kind.entityType, of]]), new AbortController().signal);
      history.push('the sweeper begins');
      follow(client, work, 'the sweep');
      await turns.ended();
    },
    kill(name: string): void {
      const killed = replicas.get(name);
      if (killed === undefined) return;
      history.push(`${name} is killed`);
      killed.client.isKilled = true;
      replicas.delete(name);
    },
    async run(operation: Operation, isLost = false): Promise<void> {
      gates.waiting.splice(gates.waiting.indexOf(operation), 1);
      history.push(`${operation.client.name} ${operation.name}${isLost ? ', and loses the answer' : ''}`);
      vi.advanceTimersByTime(1);
      await operation.run(isLost);
      await turns.ended();
    },
    async pass(ms = stepMs): Promise<void> {
      vi.advanceTimersByTime(ms);
      await turns.ended();
    },
    /** Lets everything happen in order, until nothing waits. */
    async flow(): Promise<void> {
      for (let waits = 0, calm = 0; waits < waitsMax && calm < calmMin; waits += 1, calm += 1) {
        await world.pass();
        if (gates.waiting.length > 0 || isUnderWay()) calm = 0;
        for (let next = gates.waiting[0]; next !== undefined; next = gates.waiting[0]) await world.run(next);
      }
    },
    /** Takes over what is left behind, and looks once more when no write can arrive any more. False if that does not end. */
    async settle(): Promise<boolean> {
      const left = { $or: [{ integration }, { hiddenFrom: integration }], due: { $exists: true } };
      for (let looks = 0; looks < looksMax; looks += 1) {
        await world.flow();
        if ((await entries.countDocuments(left)) === 0) return true;
        await world.takeOver();
        await world.flow();
        aheadMs += watchMs;
      }
      return false;
    },
    events: (): SeenEvent[] =>
      wire
        .messages(eventsStream)
        .map(({ id, subject, body }) => ({ id, subject, body: JSON.parse(Buffer.from(body).toString()) })),
    async [Symbol.asyncDispose](): Promise<void> {
      for (const { client } of replicas.values()) client.isKilled = true;
      gates.waiting.splice(0);
      turns[Symbol.dispose]();
      await Promise.all(collections.map((name) => store.collection(name).deleteMany({})));
    },
  };
  return world;
}

export type Pushes = Awaited<ReturnType<typeof openPushes>>;
