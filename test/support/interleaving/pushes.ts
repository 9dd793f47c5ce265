// Replicas of a service in this process to which callers push the same records, or archive or erase them, a replica that takes pushes over,
// and mirrors of the records. Each operation in MongoDB waits until a test lets it run. A replica may be killed between any two of them, and
// a caller may hang up. MongoDB is real, NATS is in memory.
import { randomUUID } from 'node:crypto';
import {
  type Announcer,
  type ArchiveAnswer,
  type EraseAnswer,
  eventsStream,
  type PushAnswer,
  requestHeaders,
} from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import type { Store } from '@integration-sync/runtime/store';
import { Registry } from 'prom-client';
import { vi } from 'vitest';
import type { Action } from '../../../shared/sync/src/action.ts';
import { steadyClock } from '../../../shared/sync/src/clock.ts';
import { openEngine, openKind } from '../../../shared/sync/src/engine.ts';
import type { Entry } from '../../../shared/sync/src/journal/journal-entry.ts';
import { ownedMs, watchMs } from '../../../shared/sync/src/journal/journal-times.ts';
import type { Kind } from '../../../shared/sync/src/kind.ts';
import { openListing } from '../../../shared/sync/src/listing/answer-page.ts';
import { recordListing } from '../../../shared/sync/src/listing/record-listing.ts';
import { collectionNames } from '../../../shared/sync/src/names.ts';
import { changeStatus, push } from '../../../shared/sync/src/pushing/push.ts';
import { closeForgotten, sweep } from '../../../shared/sync/src/recovery/sweeper.ts';
import type { SeenEvent } from '../sync.ts';
import { type Client, type Gates, gatedStore, type Operation } from './gates.ts';
import { openMirror, walk } from './mirrors.ts';
import { openTurns } from './turns.ts';
import { Wire } from './wire.ts';

/** The same in every world, so that internal ids sort in the same way. */
const integration = 'acme';
const log = openLog({ service: 'test', level: 'silent' });
const config = { PUSHES_AT_ONCE_MAX: 8 } as never;
const handlers = { push, archive: changeStatus('archive'), erase: changeStatus('erase') };
const stepMs = 20;
/** In so many waits of 20 ms every push has ended. */
const waitsMax = 800;
/** So many waits without an operation: an announced push is noted as such after 200 ms. */
const calmMin = 15;
/** A push is taken over, looked at once more, and, if writes arrived late, taken over and looked at again. */
const looksMax = 8;

/** The service that stores records of the kind. */
export interface Served {
  service: Announcer;
  kind: Kind;
  /** How far the clock of the replica that takes pushes over is ahead. If that clock is right, 15 s pass before each takeover. */
  aheadMs: number;
}

export interface Asked {
  readonly replica: string;
  readonly action: Action;
  /** What is pushed. An archiving and an erasing only name the records. */
  readonly items: readonly Item[];
  /** What the body of a push has beside its items. */
  readonly beside?: object;
}
export type Item = Readonly<{ externalId: string } & Record<string, string | number | null>>;

/** A request, as its caller sees it. `begunAt` and `endedAt` order all that happens in a world. */
export interface Call {
  readonly asked: Asked;
  readonly by: Client;
  readonly begunAt: number;
  /** When the caller had its answer or an error, hung up, or lost the replica. */
  endedAt: number;
  isHungUp: boolean;
  answered?: { syncId: string } & Partial<PushAnswer & Omit<ArchiveAnswer & EraseAnswer, 'records'>>;
  /** The run of an answered call at several times. */
  readonly runs: (Run | undefined)[];
}
type Run = Pick<Entry, '_id' | 'created' | 'updated' | 'unchanged' | 'failed' | 'completedAt'>;

const requestOf = (body: object, query: string, caller?: Call): BusRequest => ({
  subject: 'svc.test',
  headers: new Map([
    [requestHeaders.integration, integration],
    [requestHeaders.query, query],
  ]),
  body: Buffer.from(JSON.stringify(body)),
  arrivedAtMs: performance.now(),
  deadline: Infinity,
  get isGivenUp() {
    return caller?.isHungUp === true;
  },
  // The caller has not promised to wait, so replicas ask whether it still waits.
  waitedForUntilMs: 0,
  isWaitedFor: async () => caller?.isHungUp !== true,
  wait: () => {
    throw new Error('no request waits for an event');
  },
  integration,
  requestId: randomUUID(),
  log,
});

function openReplicas(store: Store, { service, kind }: Served, gates: Gates, wire: Wire) {
  const open = async (name: string, now: () => number) => {
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
    const of = openKind(kind, gated, log, opening);
    const cursorKey = Buffer.alloc(32, 1);
    return { client, engine, of, list: openListing({ store: gated, engine, cursorKey }, recordListing(of)) };
  };
  const replicas = new Map<string, ReturnType<typeof open>>();
  return {
    /** The replica of this name, or its successor if it was killed. */
    get: (name: string, now = Date.now) => replicas.getOrInsertComputed(name, () => open(name, now)),
    async kill(name: string): Promise<Client | undefined> {
      const killed = await replicas.get(name);
      if (killed === undefined) return undefined;
      killed.client.isKilled = true;
      replicas.delete(name);
      return killed.client;
    },
    names: () => replicas.keys().toArray(),
  };
}

/** Runs operations one by one, and notes what happens. */
function openStage() {
  const turns = openTurns();
  const gates: Gates = { waiting: [], free: [], isFree: () => false, known: () => undefined };
  const begun: { by: Client; isOver: boolean }[] = [];
  const history: string[] = [];
  const isUnderWay = (): boolean => begun.some(({ by, isOver }) => by.isKilled !== true && !isOver);
  let latest = 0;
  const stage = {
    gates,
    history,
    tick: (): number => (latest += 1),
    async follow(by: Client, work: Promise<unknown>, what: string): Promise<void> {
      const one = { by, isOver: false };
      begun.push(one);
      const end = (how: string) => () => {
        one.isOver = true;
        history.push(`${what} ${how}`);
      };
      work.then(end('ended'), (error: unknown) => end(String(error))());
      await turns.ended();
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
        await stage.pass();
        if (gates.waiting.length > 0 || isUnderWay()) calm = 0;
        for (let next = gates.waiting[0]; next !== undefined; next = gates.waiting[0]) await stage.run(next);
      }
    },
    close(): void {
      gates.waiting.splice(0);
      turns[Symbol.dispose]();
    },
  };
  return stage;
}
type Stage = ReturnType<typeof openStage>;
type Replicas = ReturnType<typeof openReplicas>;

function openCalls(stage: Stage, replicas: Replicas, { kind }: Served) {
  const { tick, history } = stage;
  const calls: Call[] = [];
  const end = (call: Call): void => {
    if (call.endedAt === Infinity) call.endedAt = tick();
  };
  const answer = async (call: Call): Promise<void> => {
    const { action, replica, items, beside } = call.asked;
    const { engine, of } = await replicas.get(replica);
    const externalIds = items.map(({ externalId }) => externalId);
    const body = action === 'push' ? { [kind.plural]: items, ...beside } : { externalIds };
    const request = requestOf(body, '', call);
    try {
      const reply = await engine.semaphore.run(() => handlers[action](engine, of, request), integration);
      const syncId = reply.headers?.['x-sync-id'];
      if (call.endedAt === Infinity) call.answered = { syncId, ...JSON.parse(String(reply.body)) };
    } finally {
      end(call);
    }
  };
  return {
    calls,
    async begin(asked: Asked): Promise<void> {
      const { client } = await replicas.get(asked.replica);
      // No two calls begin in the same millisecond.
      vi.advanceTimersByTime(1);
      const call: Call = { asked, by: client, begunAt: tick(), endedAt: Infinity, isHungUp: false, runs: [] };
      calls.push(call);
      history.push(`${asked.replica} begins ${JSON.stringify(asked)}`);
      await stage.follow(client, answer(call), `${asked.replica}'s ${asked.action}`);
    },
    /** The caller of one of the open calls hangs up. */
    hangUp(which: number): void {
      const open = calls.filter(({ endedAt }) => endedAt === Infinity);
      const call = open[which % open.length];
      if (call === undefined) return;
      call.isHungUp = true;
      end(call);
      history.push(`the caller of ${JSON.stringify(call.asked)} hangs up`);
    },
    async kill(name: string): Promise<void> {
      const client = await replicas.kill(name);
      if (client === undefined) return;
      history.push(`${name} is killed`);
      for (const call of calls) if (call.by === client) end(call);
    },
  };
}

export async function openPushes(store: Store, served: Served) {
  const { service, kind } = served;
  const { journal: journalName, watermarks } = collectionNames(service);
  const entries = store.collection<Entry>(journalName);
  const wire = new Wire();
  const stage = openStage();
  const replicas = openReplicas(store, served, stage.gates, wire);
  let { aheadMs } = served;

  const world = {
    integration,
    ...stage,
    ...openCalls(stage, replicas, served),
    mirrors: [openMirror('mirror 1', 1), openMirror('mirror 2', 2)],
    /** Notes the runs of all answered calls, as a caller sees them. */
    async lookAtRuns(): Promise<void> {
      const answered = world.calls.filter((call) => call.answered !== undefined);
      const ids = answered.flatMap((call) => call.answered?.syncId ?? []);
      const found = await entries
        .find({ _id: { $in: ids }, integration, state: { $ne: 'writing' } })
        .project<Run>({ created: 1, updated: 1, unchanged: 1, failed: 1, completedAt: 1 })
        .toArray();
      for (const { runs, answered: of } of answered) runs.push(found.find(({ _id }) => _id === of?.syncId));
    },
    /** A mirror asks for changes, unless it is asking already. */
    async poll(which: number): Promise<void> {
      const mirror = world.mirrors[which % world.mirrors.length];
      if (mirror === undefined || mirror.isWalking) return;
      const { client, list } = await replicas.get(mirror.name);
      world.history.push(`${mirror.name} polls`);
      const walking = walk(mirror, (query) => list(requestOf({}, query)), world.tick);
      await world.follow(client, walking, `${mirror.name}'s walk`);
      await world.lookAtRuns();
    },
    /** A replica takes over every push that has not ended and is due by its clock. */
    async takeOver(): Promise<void> {
      if (served.aheadMs < ownedMs) await world.pass(ownedMs + 1);
      const { client, engine, of } = await replicas.get('sweeper', () => Date.now() + aheadMs);
      const kinds = new Map([[kind.entityType, of]]);
      const sweeping = sweep(engine, kinds, new AbortController().signal).then(() => closeForgotten(engine));
      world.history.push('the sweeper begins');
      await world.follow(client, sweeping, 'the sweep');
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
      for (const name of replicas.names()) await replicas.kill(name);
      stage.close();
      const drafts = kind.drafting === undefined ? [] : [kind.drafting.collection];
      const collections = [kind.plural, ...drafts, journalName, watermarks];
      await Promise.all(collections.map((name) => store.collection(name).deleteMany({})));
    },
  };
  return world;
}

export type Pushes = Awaited<ReturnType<typeof openPushes>>;
