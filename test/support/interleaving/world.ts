// Two replicas of webhooks, whose partition one of them owns, and the callers of one endpoint. Time, MongoDB's answers, NATS and the
// receiver do nothing until a test lets them, so that a test draws the interleaving. MongoDB is real.
import {
  type EventKind,
  eventBatchesStream,
  eventsStream,
  partitionOf,
  publishWithBatch,
} from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import type { Store } from '@integration-sync/runtime/store';
import { Registry } from 'prom-client';
import { vi } from 'vitest';
import { changeOf } from '../../../services/webhooks/src/api/change.ts';
import type { Changed } from '../../../services/webhooks/src/delivering/endpoint-changes.ts';
import { type Endpoint, newEndpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openEndpoints, openRevisions } from '../../../services/webhooks/src/endpoints/endpoint-store.ts';
import type { LogPoint } from '../../../services/webhooks/src/log/offsets.ts';
import { assign } from '../../../services/webhooks/src/owning/ownership.ts';
import { startPipeline } from '../../../services/webhooks/src/pipeline.ts';
import { openVault } from '../../../services/webhooks/src/secrets/vault.ts';
import type { Attempted, Send } from '../../../services/webhooks/src/sending/send.ts';
import { secretKey } from '../webhooks.ts';
import { type Client, type Gates, gatedStore, type Operation } from './gates.ts';
import { rememberReads } from './reads.ts';
import { openTurns } from './turns.ts';
import { type Link, Wire } from './wire.ts';

export type Answer = 'succeeded' | 'failed' | 'gone' | 'not sent';

/** An attempt as the receiver sees it. */
export interface Attempt {
  replica: Replica;
  url: string;
  eventId: string;
  number: number;
  begunAt: number;
  endedAt: number | undefined;
  answer: Answer | undefined;
  /** The endpoint as the replica knows it when the attempt begins. */
  endpoint: Endpoint;
  /** Whether the circuit was closed in MongoDB when the attempt ended. */
  wasClosed: boolean;
  end: (answer: Answer) => void;
}

export interface Replica {
  readonly name: string;
  readonly link: Link;
  readonly client: Client;
  isGone: boolean;
  changed: Changed;
  stop: () => Promise<void>;
}

/** What a caller asked for, and when the answer came. */
export interface Asked {
  what: string;
  begunAt: number;
  endedAt: number | undefined;
}

export interface Stored {
  at: number;
  by: string;
  endpoint: Endpoint | null;
  /** The owner of the endpoint's partition. */
  owner: string | null;
}

const log = openLog({ service: 'test', level: 'silent' });
const vault = openVault(secretKey);
const config = {
  WEBHOOK_IN_FLIGHT_MAX: 64,
  WEBHOOK_ENDPOINTS_REMEMBERED: 100,
  WEBHOOK_SUBSCRIPTIONS_REMEMBERED: 100,
};
const rest = 'rest';
const deadlineMs = 10_000;
/** The replicas' ids. The first owns the partition of the integration, as long as both live. */
const names = ['A', 'B'];
const endpointId = 'wh_000000000001';
const integration = firstOwned();
const partition = partitionOf(integration);
const collections = ['endpoints', 'offsets', 'partitions', 'replicas', 'revisions', 'streams'].map(
  (name) => `webhook_${name}`,
);

export interface WorldOptions {
  store: Store;
  inFlightMax?: number | undefined;
}

export async function openWorld({ store: database, inFlightMax }: WorldOptions) {
  const store = rememberReads(database);
  const turns = openTurns();
  const wire = new Wire();
  const stop = new AbortController();
  /** The sweep of unannounced disablings finds nothing unless the endpoint has one. */
  const known = (name: string, args: readonly unknown[]): unknown[] | undefined =>
    isSweep(name, args) && (stored.at(-1)?.endpoint?.unannounced.length ?? 0) === 0 ? [] : undefined;
  const gates: Gates = { waiting: [], free: [], isFree, known };
  const replicas: Replica[] = [];
  const attempts: Attempt[] = [];
  const pushed: { id: string; at: number; point: LogPoint }[] = [];
  const owners: { at: number; owner: string | null; term: number }[] = [];
  const asked: Asked[] = [];
  const stored: Stored[] = [];
  let step = 0;
  let lastStored = '';
  const endpoints = store.collection<Endpoint>('webhook_endpoints');
  const claims = store.collection<StoredClaim>('webhook_partitions');
  const beating = setInterval(() => {
    wire.broadcast({ name: rest, isCut: false, reconnects: 0 }, 'webhooks.replica.alive', rest, {});
  }, 500);

  /** Lets replicas work until all of them wait. */
  const quiet = async (): Promise<void> => {
    await turns.ended();
    for (let free = gates.free.shift(); free !== undefined; free = gates.free.shift()) {
      await free.run(false);
      await turns.ended();
    }
  };

  /** Runs one timer after another. What follows from a timer ends before the next timer, however long MongoDB takes. */
  const pass = async (ms: number): Promise<void> => {
    const passing = { isOver: false };
    setTimeout(() => (passing.isOver = true), ms);
    while (!passing.isOver) {
      vi.advanceTimersToNextTimer();
      await quiet();
    }
  };

  /** Runs an operation, and notes what it made of the endpoint. */
  const run = async (operation: Operation, isLost = false): Promise<void> => {
    gates.waiting.splice(gates.waiting.indexOf(operation), 1);
    // What follows from the answer happens later than this.
    const at = (step += 1);
    await operation.run(isLost);
    if (operation.name.startsWith('webhook_endpoints') && !operation.name.includes('find.'))
      await look(operation, at);
    await quiet();
  };
  const look = async ({ client }: Pick<Operation, 'client'>, at: number): Promise<void> => {
    const endpoint = await endpoints.findOne({ _id: endpointId });
    const text = JSON.stringify(endpoint);
    if (text === lastStored) return;
    lastStored = text;
    const claim = await claims.findOne({ _id: partition });
    const owner = claim?.owner ?? null;
    if (claim !== null && owners.at(-1)?.term !== claim.term) owners.push({ at, owner, term: claim.term });
    stored.push({ at, by: client.name, endpoint, owner });
  };

  const send =
    (replica: () => Replica): Send =>
    ({ endpoint }, { eventId, attempt, signal }) =>
      new Promise<Attempted>((resolve, reject) => {
        const at = new Date();
        const end = (answer: Answer): void => {
          if (one.endedAt !== undefined) return;
          clearTimeout(timer);
          one.endedAt = step += 1;
          one.answer = answer;
          one.wasClosed = stored.at(-1)?.endpoint?.open === true;
          if (answer === 'not sent') reject(new Error('the egress proxy is away'));
          else resolve(attemptedOf(answer, at));
        };
        const timer = setTimeout(() => end('failed'), deadlineMs);
        // A replica that hands a partition over cuts off its attempts in flight: none of them uses up an attempt of its event.
        signal.addEventListener('abort', () => end('not sent'), { once: true });
        const one: Attempt = {
          replica: replica(),
          url: endpoint.url,
          eventId,
          number: attempt,
          begunAt: (step += 1),
          endedAt: undefined,
          wasClosed: false,
          answer: undefined,
          endpoint,
          end,
        };
        attempts.push(one);
      });

  const openReplica = async (name: string): Promise<Replica> => {
    const client = { name, isCut: false };
    const link = { name, isCut: false, reconnects: 0 };
    const gated = gatedStore(store, client, gates, { partition, owner: rest, stream: '' });
    const revisions = openRevisions(gated);
    let replica: Replica | undefined;
    const { promise: opened, resolve } = Promise.withResolvers<Replica>();
    const starting = startPipeline({
      self: name,
      bus: wire.busOf(link),
      store: gated,
      metrics: { registry: new Registry() } as never,
      tracing: undefined,
      config,
      endpoints: await openEndpoints(gated),
      revisions,
      streamReset: { lower: async () => undefined, forgetOther: async () => undefined },
      addNotes: () => undefined,
      vault,
      send: send(() => replica as Replica),
      signal: stop.signal,
      log,
      ensure: async () => undefined,
    });
    void starting.then((pipeline) => {
      replica = {
        name,
        link,
        client,
        isGone: false,
        changed: pipeline.changed,
        stop: async () => pipeline[Symbol.asyncDispose](),
      };
      replicas.push(replica);
      resolve(replica);
    });
    return opened;
  };

  /** Lets everything happen in order, until nothing waits. */
  const flow = async (): Promise<void> => {
    for (;;) {
      await quiet();
      const operation = gates.waiting.find(({ client }) => !client.isCut);
      const broadcast = wire.underway.shift();
      if (operation !== undefined) await run(operation);
      broadcast?.arrive();
      if (operation === undefined && broadcast === undefined) return;
    }
  };

  const flowUntil = async <T>(work: Promise<T>): Promise<T> => {
    const working = { isDone: false };
    const ended = work.finally(() => (working.isDone = true));
    for (let tries = 0; !working.isDone && tries < 200; tries += 1) {
      await flow();
      if (!working.isDone) await pass(100);
    }
    return ended;
  };

  const push = async (count: number): Promise<void> => {
    const ids = Array.from({ length: count }, (_, at) => `e${pushed.length + at + 1}-${endpointId}`);
    const sequence = wire.messages(eventBatchesStream).length + 1;
    step += 1;
    pushed.push(...ids.map((id, index) => ({ id, at: step, point: { sequence, index } })));
    const body = `{"event":"supplier.created","timestamp":"${new Date().toISOString()}","data":{}}`;
    const publisher = wire.busOf({ name: 'catalog', isCut: false, reconnects: 0 });
    await publishWithBatch(publisher, {
      announcer: 'catalog',
      integration,
      events: ids.map((id) => ({ subject: `events.${integration}.supplier.created`, id, body })),
    });
    await quiet();
  };

  /** A caller's change by way of a replica; resolves once it is asked, and is answered later. */
  const ask = (replica: Replica, what: string, wanted: Partial<Pick<Endpoint, 'active' | 'url'>>): Asked => {
    const one: Asked = { what, begunAt: step, endedAt: undefined };
    asked.push(one);
    const caller = { name: `caller of ${replica.name}`, isCut: false };
    const gated = gatedStore(store, caller, gates, { partition: 0, owner: rest, stream: '' });
    const change = async (): Promise<void> => {
      const all = await openEndpoints(gated);
      for (;;) {
        const read = await all.find(endpointId);
        if (read === null) break;
        const cutoff = { through: wire.messages(eventsStream).length, underWay: [] };
        const settings = { set: {}, clear: [] };
        const update = changeOf(read, wanted, { settings, cutoff, now: new Date() });
        const after = update === undefined ? read : await all.change(read, update);
        if (after === null) continue;
        await replica.changed(after);
        break;
      }
      one.endedAt = step;
    };
    change().catch((error: unknown) => (one.what = `${what}: ${String(error)}`));
    return one;
  };

  const world = {
    attempts,
    asked,
    stored,
    pushed,
    replicas,
    wire,
    gates,
    endpointId,
    integration,
    get step() {
      return step;
    },
    endpoints,
    owner: async (): Promise<string | null> => (await claims.findOne({ _id: partition }))?.owner ?? null,
    /** A time before which the owner of that time may not have been the owner. */
    ownedSince: (at: number): number => owners.findLast((one) => one.at <= at)?.at ?? 0,
    offsets: store.collection<{ _id: string; isBehind: boolean; offsets: Record<string, unknown> }>(
      'webhook_offsets',
    ),
    /** Counts what happens. */
    begin(): void {
      step += 1;
    },
    run,
    pass,
    quiet,
    flow,
    flowUntil,
    push,
    ask,
    openReplica,
    stop,
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(beating);
      stop.abort(new Error('the test is over'));
      turns[Symbol.dispose]();
      // The next world begins with an empty database: it waits for no owner of this one.
      await Promise.all(collections.map((name) => store.collection(name).deleteMany({})));
    },
  };
  for (const name of names) await flowUntil(openReplica(name));
  const endpoint = newEndpoint({
    id: endpointId,
    integration,
    url: 'https://one.example/',
    events: ['supplier.created' satisfies EventKind],
    secret: vault.seal('whsec_AAAA', endpointId),
    eventsAfter: 0,
    ...(inFlightMax === undefined ? {} : { inFlightMax }),
  });
  await endpoints.insertOne(endpoint);
  await openRevisions(store).changed(integration);
  await look({ client: { name: 'test', isCut: false } }, step);
  for (let tries = 0; tries < 40 && !(await isOwned(store)); tries += 1) {
    await flow();
    await pass(500);
  }
  await flow();
  return world;
}

export type World = Awaited<ReturnType<typeof openWorld>>;

function firstOwned(): string {
  const owners = assign(names);
  for (let n = 0; ; n += 1) if (owners[partitionOf(`acme-${n}`)] === names[0]) return `acme-${n}`;
}

/** Checks, and the writes of floors and claims, run by themselves: what a test draws is about the endpoint. */
const isFree = (name: string, args: readonly unknown[]): boolean =>
  name.startsWith('webhook_replicas') ||
  name.startsWith('webhook_partitions') ||
  name === 'webhook_endpoints.countDocuments' ||
  isSweep(name, args);

const isSweep = (name: string, args: readonly unknown[]): boolean =>
  name === 'webhook_endpoints.find' && JSON.stringify(args[0] ?? {}).includes('unannounced.epoch');

interface StoredClaim {
  _id: number;
  owner: string | null;
  term: number;
}

async function isOwned(store: Store): Promise<boolean> {
  const claims = store.collection<StoredClaim>('webhook_partitions');
  return (await claims.findOne({ _id: partition }))?.owner === names[0];
}

const attemptedOf = (answer: Exclude<Answer, 'not sent'>, at: Date): Attempted => ({
  verdict: answer,
  at,
  durationMs: 1,
  responseStatus: { succeeded: 204, failed: 500, gone: 410 }[answer],
  error: answer === 'succeeded' ? null : 'refused',
});
