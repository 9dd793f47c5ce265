// The integrations whose event batches this replica delivers, each with a window of the log and a queue for each endpoint. For
// all event batches that are read together the replica looks up revisions once, and then reads changed endpoints alone. So once
// a caller has the answer to a change of an endpoint, the change holds for every later event.
//
//   the endpoint       where its queue begins
//   ─────────────────  ──────────────────────────────────────────────────────────────────────────
//   was behind         at its offset
//   was not behind     at the floor of its partition, with the events after its cutoffs. So it gets again the events that
//                      the former owner delivered after that floor
//   is new or enabled  after the last event batch that was read
import { partitionOf } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import type { Retry } from '@integration-sync/runtime/retry';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Endpoint, Subscriber } from '../endpoints/endpoint.ts';
import type { Endpoints, Revisions } from '../endpoints/endpoint-store.ts';
import type { LoggedBatch } from '../log/logged-batch.ts';
import type { OffsetsByIntegration, StoredOffset } from '../log/offsets.ts';
import type { Window, Windows } from '../log/window.ts';
import { openMatch } from '../matching/match.ts';
import type { OwnedPartition, OwnedPartitions } from '../owning/ownership.ts';
import { applied, begins } from './delivery-state.ts';
import { EndpointQueue } from './endpoint-queue.ts';

export interface ActiveIntegration {
  readonly name: string;
  readonly partition: number;
  readonly window: Window;
  readonly queues: Map<string, EndpointQueue>;
  revision: string | undefined;
  /** Endpoints are read again after 30 s: if a replica dies during a change of an endpoint, the revision is not replaced. */
  readAt: number;
  /** The offsets of endpoints that have no queue yet. */
  offsets: ReadonlyMap<string, StoredOffset>;
  attempts: AbortController;
}

/** Integrations whose endpoints are in memory, by name; the most recently needed come last. */
export type ActiveIntegrations = Map<string, ActiveIntegration>;

interface IntegrationsOptions {
  active: ActiveIntegrations;
  owned: OwnedPartitions;
  revisions: Pick<Revisions, 'of'>;
  endpoints: Pick<Endpoints, 'subscribersOf' | 'findAll' | 'recordMissed'>;
  windows: Windows;
  /** Corrects the cutoffs of endpoints if EVENTS was created again. */
  correctCutoffs: () => Promise<void>;
  wake: (queue: EndpointQueue) => void;
  /** Whether an offset of the integration may have to be stored or removed. Such an integration stays in memory. */
  isFollowed: (integration: ActiveIntegration) => boolean;
  onBehind: (queue: EndpointQueue) => void;
  endpointsMax: number;
  retry: Retry;
  log: Log;
}

const keptMs = 30_000;
const roomEveryMs = 1_000;

export class Integrations {
  readonly #options: IntegrationsOptions;
  readonly #active: ActiveIntegrations;
  readonly #match = openMatch();
  #endpoints = 0;
  #roomMadeAt = -Infinity;
  /** Runs one look-up after another, so that no older state replaces a newer state. */
  readonly #inTurn = openSemaphore({ max: 1 }).run;

  constructor(options: IntegrationsOptions) {
    this.#options = options;
    this.#active = options.active;
  }

  get endpoints(): number {
    return this.#endpoints;
  }

  async take(batches: readonly LoggedBatch[]): Promise<void> {
    const { owned, retry, correctCutoffs } = this.#options;
    const names = [...new Set(batches.map(({ integration }) => integration))];
    const lookUp = () => retry('looking up endpoints', () => this.#inTurn(() => this.#lookUp(names)));
    await lookUp();
    // Catalog, batches or an operator may have created EVENTS again, which then counts from one.
    if (batches.some((batch) => this.#isBeforeCutoff(batch))) {
      await retry('comparing EVENTS with cutoffs', correctCutoffs);
      await lookUp();
    }
    for (const batch of batches) if (owned.has(batch.partition)) this.#takeOne(batch);
    this.#makeRoom();
  }

  /** Opens the queues of the endpoints that have stored offsets, in partitions that this replica has just claimed. */
  begin(offsets: OffsetsByIntegration): Promise<void> {
    // The offsets are kept before this look-up of endpoints gets its turn, because an earlier look-up may open the same queues.
    for (const [name, some] of offsets) this.#activate(name, some);
    return this.#inTurn(async () => {
      if (offsets.size > 0) await this.#lookUp([...offsets.keys()]);
    });
  }

  refresh(name: string, endpointId: string): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#owns(name)) return;
      const integration = this.#active.get(name);
      const queue = integration?.queues.get(endpointId);
      if (integration === undefined || queue === undefined) {
        if (integration !== undefined) integration.readAt = -Infinity;
        return this.#lookUp([name]);
      }
      const [found] = await this.#options.endpoints.findAll([endpointId]);
      if (found === undefined) this.onRead(queue, null);
      else this.#update(integration, queue, found);
    });
  }

  /** Applies an endpoint; `found` is null if it is deleted. The queue ends if a later owner has stored a change. */
  onRead(queue: EndpointQueue, found: Endpoint | null): void {
    const integration = this.#active.get(queue.integration);
    queue.isDeleted = found === null;
    if (integration?.queues.get(queue.id) !== queue) queue.isEnded = true;
    else if (found === null || (found.term ?? 0) > queue.claim.term) this.#close(integration, queue);
    else this.#apply(integration, queue, found);
  }

  ofPartitions(partitions: readonly OwnedPartition[]): ActiveIntegration[] {
    const numbers = new Set(partitions.map(({ partition }) => partition));
    return [...this.#active.values()].filter(({ partition }) => numbers.has(partition));
  }

  end(partitions: readonly OwnedPartition[]): void {
    for (const integration of this.ofPartitions(partitions)) this.#forget(integration);
  }

  #owns(name: string): boolean {
    return this.#options.owned.has(partitionOf(name));
  }

  /** Reads the endpoints of integrations whose revision has changed or was read more than 30 s ago. */
  async #lookUp(names: readonly string[]): Promise<void> {
    const { revisions, endpoints } = this.#options;
    const now = performance.now();
    const found = await revisions.of(names);
    const changed = found.filter(({ _id, revision }) => {
      const integration = this.#active.get(_id);
      return (
        integration === undefined || integration.revision !== revision || now - integration.readAt > keptMs
      );
    });
    if (changed.length === 0) return;
    const subscribers = await endpoints.subscribersOf(changed.map(({ _id }) => _id));
    for (const { _id: name, revision } of changed) {
      if (!this.#owns(name)) continue;
      const integration = this.#active.get(name) ?? this.#activate(name);
      integration.revision = revision;
      integration.readAt = now;
      const all = subscribers.get(name) ?? [];
      const ids = new Set(all.map(({ _id }) => _id));
      for (const queue of integration.queues.values()) if (!ids.has(queue.id)) this.onRead(queue, null);
      for (const one of all) {
        const queue = integration.queues.get(one._id);
        if (queue === undefined) this.#open(integration, one);
        else this.#update(integration, queue, one);
      }
    }
  }

  #isBeforeCutoff({ integration, endpointId, eventsThrough }: LoggedBatch): boolean {
    if (endpointId !== undefined) return false;
    const queues = this.#active.get(integration)?.queues.values() ?? [];
    return Iterator.from(queues).some(({ subscriber }) => eventsThrough <= lastCutoffOf(subscriber));
  }

  #takeOne(batch: LoggedBatch): void {
    const { wake } = this.#options;
    const integration = this.#active.get(batch.integration);
    if (integration === undefined || batch.sequence <= integration.window.through) return;
    this.#active.delete(integration.name);
    this.#active.set(integration.name, integration);
    const { queues, window } = integration;
    if (queues.size === 0) return;
    window.add(batch);
    if (batch.endpointId !== undefined) {
      const queue = queues.get(batch.endpointId);
      if (queue !== undefined) wake(queue);
      return;
    }
    for (const queue of queues.values()) if (queue.state.isActive) wake(queue);
  }

  #activate(name: string, offsets: ActiveIntegration['offsets'] = new Map()): ActiveIntegration {
    const { owned, windows } = this.#options;
    const partition = partitionOf(name);
    const integration: ActiveIntegration = {
      name,
      partition,
      window: windows.open(name, (owned.get(partition)?.through ?? 0) + 1),
      queues: new Map(),
      revision: undefined,
      readAt: -Infinity,
      offsets,
      attempts: new AbortController(),
    };
    this.#active.set(name, integration);
    return integration;
  }

  #open(integration: ActiveIntegration, found: Subscriber): void {
    const { name, partition, window, offsets, queues } = integration;
    const offset = offsets.get(found._id);
    const queue = new EndpointQueue({
      subscriber: found,
      integration: name,
      claim: this.#options.owned.get(partition) ?? { stream: '', term: 0 },
      window,
      match: this.#match,
      cutOff: () => integration.attempts.signal,
      from: offset?.epoch === found.epoch ? offset : window.through + 1,
      nowMs: Date.now(),
      now: performance.now(),
    });
    queues.set(found._id, queue);
    this.#endpoints += 1;
    this.#tellMissed(queue, found, { partition, sequence: window.through + 1 }, offset);
    // The floor may have passed the stored offset, also that of a disabled endpoint whose missed events are being stored.
    if (offset?.epoch === queue.offsetEpoch) this.#options.onBehind(queue);
    this.#options.wake(queue);
  }

  #update(
    read: Pick<ActiveIntegration, 'window' | 'partition'>,
    queue: EndpointQueue,
    found: Subscriber,
    through = read.window.through,
  ): void {
    const { storing, changesFound } = queue;
    if (storing === undefined) return this.#apply(read, queue, found, through);
    changesFound.push(through);
    // The change may be an enabling: if this replica dies before it applies the change, the next owner reads the later events.
    const held = this.#options.owned.holdFloor({ partition: read.partition, sequence: through + 1 });
    void storing.then(() => {
      using _held = held;
      changesFound.shift();
      this.#update(read, queue, found, through);
    });
  }

  #apply(
    { window, partition }: Pick<ActiveIntegration, 'window' | 'partition'>,
    queue: EndpointQueue,
    found: Subscriber,
    through = window.through,
  ): void {
    if (found.version < queue.state.version) return;
    // While an enabling waited for `storing`, events were read that the endpoint gets.
    const sequence = Math.min(through, ...queue.changesFound) + 1;
    this.#tellMissed(queue, found, { partition, sequence });
    const { state: former } = queue;
    queue.state = applied(former, found);
    queue.subscriber = found;
    if (found.url !== former.url) queue.forgetRetryAfter();
    if (begins(former, queue.state)) queue.reset(sequence);
    this.#options.wake(queue);
  }

  /**
   * Stores the missed events of each epoch for which MongoDB has no missed events, or outdated ones. Until they are stored, the
   * floor stays below the point from which the endpoint may have been enabled again.
   */
  #tellMissed(
    queue: EndpointQueue,
    found: Subscriber,
    enabledFrom: { partition: number; sequence: number },
    offset?: StoredOffset,
  ): void {
    const { endpoints, owned, retry, log } = this.#options;
    for (const [key, missed] of Object.entries(found.missed ?? {})) {
      const epoch = Number(key);
      // A former owner, or a disabling by this owner whose answer was lost, may have stored outdated missed events.
      const isOlder = epoch === queue.state.epoch && (missed?.term ?? Infinity) <= queue.claim.term;
      if ((missed !== null && !isOlder) || queue.toldMissed.includes(epoch)) continue;
      queue.toldMissed.push(epoch);
      const told = queue.missed(offset?.epoch === epoch ? offset : undefined);
      const { sequence, index, open } = told;
      const telling = { sequence, index, open, epoch };
      queue.telling = telling;
      const held = owned.holdFloor(enabledFrom);
      retry('storing missed events', () => endpoints.recordMissed(found._id, epoch, told)).then(
        () => {
          if (queue.telling === telling) queue.telling = undefined;
          held[Symbol.dispose]();
        },
        (error: unknown) =>
          log.debug(
            { err: error, endpoint: found._id },
            'the missed events of an endpoint could not be stored yet',
          ),
      );
    }
  }

  #close({ queues }: ActiveIntegration, queue: EndpointQueue): void {
    queue.isEnded = true;
    queues.delete(queue.id);
    this.#endpoints -= 1;
  }

  #forget(integration: ActiveIntegration): void {
    for (const queue of integration.queues.values()) this.#close(integration, queue);
    integration.attempts.abort(new Error('this replica no longer delivers to the integration'));
    integration.window.clear();
    this.#active.delete(integration.name);
  }

  #makeRoom(): void {
    const { endpointsMax, isFollowed } = this.#options;
    const now = performance.now();
    if (this.#endpoints <= endpointsMax || now - this.#roomMadeAt < roomEveryMs) return;
    this.#roomMadeAt = now;
    for (const integration of this.#active.values()) {
      if (this.#endpoints <= endpointsMax) return;
      if (isIdle(integration) && !isFollowed(integration)) this.#forget(integration);
    }
  }
}

const lastCutoffOf = ({ eventsAfter, earlierEvents }: Subscriber): number =>
  Math.max(eventsAfter, earlierEvents.at(-1)?.through ?? 0);

/** Whether no endpoint has undelivered events. False until the endpoints are read, because an endpoint may be behind. */
const isIdle = ({ queues, revision }: ActiveIntegration): boolean =>
  revision !== undefined &&
  queues.values().every((queue) => queue.inFlight === 0 && queue.firstUndelivered() === Infinity);
