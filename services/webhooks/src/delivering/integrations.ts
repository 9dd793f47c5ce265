// The integrations whose event batches this replica delivers: of each a window of the log, and a queue for each endpoint.
// Event batches that come together cost one look-up of what has changed: a change of an endpoint, once answered, holds for
// every event that occurs afterwards. What has not changed is in memory, for a thousand endpoints as for one.
//
//   an endpoint        its queue begins
//   ─────────────────  ──────────────────────────────────────────────────────────────────────────
//   was behind         at its offset
//   kept up            at the floor of its partition: what it gets of that its cutoffs say
//   is new, or enabled at the end of what was read so far
import type { Log } from '@integration-sync/runtime/log';
import { LRUCache } from 'lru-cache';
import type { Endpoint, Missed, Subscriber } from '../endpoints/endpoint.ts';
import type { Endpoints, Revisions } from '../endpoints/store.ts';
import type { LoggedBatch } from '../log/batch.ts';
import type { LogPoint, StoredOffset } from '../log/offsets.ts';
import type { Window, Windows } from '../log/window.ts';
import type { Match } from '../matching/match.ts';
import type { Retry } from '../tools/retry.ts';
import { deadlineMs, type EndpointQueue, openEndpointQueue } from './endpoint-queue.ts';

export interface ActiveIntegration {
  readonly name: string;
  readonly partition: number;
  readonly window: Window;
  readonly queues: ReadonlyMap<string, EndpointQueue>;
}

export interface Integrations {
  readonly endpoints: number;
  all(): Iterable<ActiveIntegration>;
  get(name: string): ActiveIntegration | undefined;
  /** Event batches, in their order. */
  take(batches: readonly LoggedBatch[]): Promise<void>;
  /** Those that have offsets, of partitions that this replica has just taken. */
  begin(
    offsets: ReadonlyMap<string, ReadonlyMap<string, StoredOffset>>,
    /** Those whose owner before did not give them back. */
    ofSilent: readonly number[],
  ): Promise<void>;
  /** The endpoint has changed, or is new. */
  refresh(name: string, endpointId: string): Promise<void>;
  /** The endpoint as it is by now. */
  adopt(endpoint: Endpoint): void;
  /** Of replicas that are dead nothing is in flight any more. */
  freeFrom(isAlive: (replica: string) => boolean): void;
  /** Another replica delivered the event. */
  delivered(name: string, endpointId: string, point: LogPoint): void;
  ofPartitions(partitions: ReadonlySet<number>): ActiveIntegration[];
  /** These are no longer this replica's. */
  end(partitions: ReadonlySet<number>): void;
  missedOf(queue: EndpointQueue): Missed;
}

export interface IntegrationsOptions {
  revisions: Pick<Revisions, 'of'>;
  endpoints: Pick<Endpoints, 'subscribersOf' | 'findAll' | 'recordMissed'>;
  windows: Windows;
  match: Match;
  /** All of the partition up to there was taken. */
  readThrough: (partition: number) => number;
  partitionOf: (integration: string) => number;
  owns: (partition: number) => boolean;
  /** The endpoint may have something to do. */
  wake: (queue: EndpointQueue) => void;
  stream: () => { id: string };
  /** How many endpoints are remembered of integrations that have nothing to do. */
  endpointsMax: number;
  retry: Retry;
  log: Log;
}

interface State extends ActiveIntegration {
  readonly queues: Map<string, EndpointQueue>;
  revision: string | undefined;
  /** When its endpoints were read; a change that was made and never answered is noticed after a while. */
  readAt: number;
  offsets: ReadonlyMap<string, StoredOffset>;
}

const keptMs = 30_000;
/** No attempt that was in flight at a handover ends later. */
const earlyMs = 15_000;
const earlyMax = 10_000;
const roomEveryMs = 1_000;

export function openIntegrations(options: IntegrationsOptions): Integrations {
  const { revisions, endpoints, windows, match, readThrough, partitionOf, owns, wake, stream, retry, log } =
    options;
  /** Those that were needed last come last. */
  const states = new Map<string, State>();
  /** Those with something in flight at the owner before. */
  const held = new Set<EndpointQueue>();
  /** Offsets of integrations that are not in memory yet. */
  const begun = new Map<string, ReadonlyMap<string, StoredOffset>>();
  /** What the owner before has delivered of endpoints that are not in memory here. */
  const early = new LRUCache<string, true>({ max: earlyMax, ttl: earlyMs });
  /** By partition: no attempt of an owner that fell silent ends later. */
  const quietUntil = new Map<number, number>();
  let endpointCount = 0;

  const missedOf = (
    queue: EndpointQueue,
    { epoch: _epoch, ...offset }: StoredOffset = queue.offset(Date.now(), performance.now()),
  ): Missed => ({ ...offset, stream: stream().id });

  /** The owner says what was undelivered when a period ended. */
  const tellMissed = (queue: EndpointQueue, found: Subscriber, offset?: StoredOffset): void => {
    for (const [key, missed] of Object.entries(found.missed ?? {})) {
      const epoch = Number(key);
      if (missed !== null || queue.toldMissed.has(epoch)) continue;
      queue.toldMissed.add(epoch);
      const told = missedOf(queue, offset?.epoch === epoch ? offset : undefined);
      retry('what an endpoint missed', () => endpoints.recordMissed(found._id, epoch, told)).catch(
        (error: unknown) => log.debug({ err: error, endpoint: found._id }, 'what it missed is not said'),
      );
    }
  };

  const update = (state: State, queue: EndpointQueue, found: Subscriber): void => {
    const before = queue.subscriber;
    if (found.version < before.version || found.mark < queue.mark) return;
    tellMissed(queue, found);
    const hasChanged = found.version !== before.version || found.epoch !== before.epoch;
    if (found.mark > queue.mark || hasChanged) queue.isCircuitClosed = found.open;
    else if (found.open) queue.isCircuitClosed = true;
    queue.mark = found.mark;
    queue.subscriber = found;
    if (found.epoch !== before.epoch || (found.active && !before.active))
      queue.reset(state.window.through + 1);
    else queue.adopt(found.trials ?? [], Date.now(), performance.now());
    wake(queue);
  };

  const open = (state: State, found: Subscriber, from: number): void => {
    const offset = state.offsets.get(found._id);
    const queue = openEndpointQueue({
      subscriber: found,
      integration: state.name,
      window: state.window,
      match,
      from: offset?.epoch === found.epoch ? offset : from,
      tried: found.trials?.filter(({ index }) => index !== undefined) ?? [],
      // Who asks for a number of deliveries at once never has more.
      quietUntil: found.inFlightMax === undefined ? 0 : (quietUntil.get(state.partition) ?? 0),
      nowMs: Date.now(),
      now: performance.now(),
    });
    for (const one of offset?.open ?? []) {
      const delivery = early.has(nameOf(found._id, one)) ? queue.find(one) : undefined;
      if (delivery !== undefined) queue.finish(delivery);
    }
    state.queues.set(found._id, queue);
    if (queue.freeFrom(() => true)) held.add(queue);
    endpointCount += 1;
    tellMissed(queue, found, offset);
    wake(queue);
  };

  const close = (state: State, queue: EndpointQueue): void => {
    queue.isEnded = true;
    state.queues.delete(queue.id);
    endpointCount -= 1;
  };

  const stateOf = (name: string): State => {
    const partition = partitionOf(name);
    const offsets = begun.get(name) ?? noOffsets;
    begun.delete(name);
    return {
      name,
      partition,
      window: windows.open(name, readThrough(partition) + 1),
      queues: new Map(),
      revision: undefined,
      readAt: -Infinity,
      offsets,
    };
  };

  const forget = (state: State): void => {
    for (const queue of state.queues.values()) close(state, queue);
    state.window.clear();
    states.delete(state.name);
  };

  const isIdle = (state: State): boolean =>
    state.queues.values().every((queue) => queue.inFlight === 0 && queue.firstUndelivered() === Infinity);

  let roomMadeAt = -Infinity;
  const makeRoom = (): void => {
    const now = performance.now();
    if (endpointCount <= options.endpointsMax || now - roomMadeAt < roomEveryMs) return;
    roomMadeAt = now;
    for (const state of states.values()) {
      if (endpointCount <= options.endpointsMax) return;
      if (isIdle(state)) forget(state);
    }
  };

  /** One after the other: what was read first is applied first. */
  let looking = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const turn = looking.then(work);
    looking = turn.catch(() => undefined);
    return turn;
  };

  /** Brings the endpoints of these integrations to what they are now. */
  const lookUp = async (names: readonly string[]): Promise<void> => {
    const now = performance.now();
    const found = await revisions.of(names);
    const changed = found.filter(({ _id, revision }) => {
      const state = states.get(_id);
      return state === undefined || state.revision !== revision || now - state.readAt > keptMs;
    });
    if (changed.length === 0) return;
    const subscribers = await endpoints.subscribersOf(changed.map(({ _id }) => _id));
    for (const { _id: name, revision } of changed) {
      if (!owns(partitionOf(name))) continue;
      const state = states.get(name) ?? stateOf(name);
      states.set(name, state);
      state.revision = revision;
      state.readAt = now;
      const all = subscribers.get(name) ?? [];
      const ids = new Set(all.map(({ _id }) => _id));
      for (const queue of state.queues.values()) if (!ids.has(queue.id)) close(state, queue);
      for (const one of all) {
        const queue = state.queues.get(one._id);
        if (queue === undefined) open(state, one, state.window.through + 1);
        else update(state, queue, one);
      }
    }
  };

  const takeOne = (batch: LoggedBatch): void => {
    const state = states.get(batch.integration);
    if (state === undefined || batch.sequence <= state.window.through) return;
    states.delete(state.name);
    states.set(state.name, state);
    if (state.queues.size === 0) return;
    state.window.add(batch);
    if (batch.endpointId !== undefined) {
      const queue = state.queues.get(batch.endpointId);
      if (queue !== undefined) wake(queue);
      return;
    }
    for (const queue of state.queues.values()) if (queue.subscriber.active) wake(queue);
  };

  return {
    get endpoints() {
      return endpointCount;
    },
    all: () => states.values(),
    get: (name) => states.get(name),
    async take(batches) {
      const names = [...new Set(batches.map(({ integration }) => integration))];
      await retry('looking up endpoints', () => inTurn(() => lookUp(names)));
      for (const batch of batches) if (owns(batch.partition)) takeOne(batch);
      makeRoom();
    },
    begin(offsets, ofSilent) {
      for (const partition of ofSilent) quietUntil.set(partition, performance.now() + deadlineMs);
      // At once: a look-up whose turn comes before finds them as well.
      for (const [name, some] of offsets) begun.set(name, some);
      return inTurn(async () => {
        for (const name of offsets.keys()) if (!states.has(name)) states.set(name, stateOf(name));
        if (offsets.size > 0) await lookUp([...offsets.keys()]);
      });
    },
    refresh: (name, endpointId) =>
      inTurn(async () => {
        if (!owns(partitionOf(name))) return;
        const state = states.get(name);
        const queue = state?.queues.get(endpointId);
        if (state === undefined || queue === undefined) {
          if (state !== undefined) state.readAt = -Infinity;
          return lookUp([name]);
        }
        const [found] = await endpoints.findAll([endpointId]);
        if (found === undefined) close(state, queue);
        else update(state, queue, found);
      }),
    adopt(endpoint) {
      const state = states.get(endpoint.integration);
      const queue = state?.queues.get(endpoint._id);
      if (state !== undefined && queue !== undefined) update(state, queue, endpoint);
    },
    freeFrom(isAlive) {
      for (const queue of held) {
        if (queue.isEnded || !queue.freeFrom(isAlive)) held.delete(queue);
        wake(queue);
      }
    },
    delivered(name, endpointId, point) {
      const queue = states.get(name)?.queues.get(endpointId);
      // This replica may be about to take the partition, and have read its offsets already.
      if (queue === undefined) early.set(nameOf(endpointId, point), true);
      const delivery = queue?.find(point);
      if (queue === undefined || delivery === undefined || delivery.inFlightSince !== undefined) return;
      queue.finish(delivery);
      wake(queue);
    },
    ofPartitions: (partitions) => [...states.values()].filter(({ partition }) => partitions.has(partition)),
    end(partitions) {
      for (const name of begun.keys()) if (partitions.has(partitionOf(name))) begun.delete(name);
      for (const state of states.values()) if (partitions.has(state.partition)) forget(state);
    },
    missedOf,
  };
}

const noOffsets: ReadonlyMap<string, StoredOffset> = new Map();

const nameOf = (endpointId: string, { sequence, index }: LogPoint): string =>
  `${endpointId} ${sequence} ${index}`;
