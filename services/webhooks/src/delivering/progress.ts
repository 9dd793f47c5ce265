// A periodic check stores how far the deliveries to each endpoint are:
//
//   the endpoint                                what is stored for the endpoint
//   ──────────────────────────────────────────  ─────────────────────────────────────────────────────────
//   keeps up                                    nothing: the floor of its partition passes its events
//   has the same undelivered event for 300 ms   its offset; the floor of its partition passes the event
//   has a failure that does not count           its offset, with the next check
//   is behind                                   its offset again, after 64 deliveries or 2 s
//   is busy when its partition is released      its offset, for the next owner
//   has caught up                               nothing: its offset is removed
//   has an offset that a former owner wrote     nothing: its offset is removed within a minute
//   after losing the partition
//   lacks events that the log has dropped       nothing: a log line and a metric report dropped events
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck, type PeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Offsets, StoredOffset } from '../log/offsets.ts';
import type { LogStream } from '../log/stream.ts';
import type { Claims, SavedFloor } from '../owning/partition-claims.ts';
import type { OwnedPartitions } from '../owning/ownership.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import type { ActiveIntegration, ActiveIntegrations } from './owned-integrations.ts';

interface ProgressOptions {
  active: Pick<ActiveIntegrations, 'get'>;
  owned: OwnedPartitions;
  claims: Pick<Claims, 'saveFloors'>;
  offsets: Pick<Offsets, 'save' | 'termsIn'>;
  stream: Pick<LogStream, 'facts'>;
  onDropped: (queue: EndpointQueue) => void;
  log: Log;
}

interface Busy {
  /** The sequence of the first batch with an undelivered event, and the time since which that batch is the first. */
  first: number;
  since: number;
  /** When the endpoint became behind, when its offset was last stored, and of which epoch, and how many deliveries had begun by then. */
  behind: { since: number; savedAt: number; epoch: number; begun: number } | undefined;
  /** How many failures no stored offset includes yet, of those that do not count towards disabling the endpoint. */
  soon: number;
  hasDropped: boolean;
}

const everyMs = 100;
const heldUpMs = 300;
const savedEveryMs = 2_000;
const savedEveryDeliveries = 64;
const floorsEveryMs = 200;
const savesAtOnce = 16;
const lateEveryMs = 30_000;

export class Progress implements AsyncDisposable {
  readonly #options: ProgressOptions;
  readonly #busy = new Map<EndpointQueue, Busy>();
  /** Integrations whose offsets must be written, because an offset must be removed, or the last write may have failed. */
  readonly #toStoreAgain = new Set<string>();
  /** Integrations in which the last check found late offsets of a former owner, with the terms of this replica's claims. */
  #late = new Map<string, number>();
  #savedFloors = '';
  #floorsSavedAt = -Infinity;
  /** Runs one write after another, so that no older state replaces a newer state. */
  readonly #inTurn = openSemaphore({ max: 1 }).run;
  readonly #checks: PeriodicCheck;
  readonly #lateChecks: PeriodicCheck;

  constructor(options: ProgressOptions) {
    this.#options = options;
    const checking = { what: 'offsets and floors', everyMs, log: options.log };
    this.#checks = openPeriodicCheck(() => this.#inTurn(() => this.#check()), checking);
    const late = { what: 'late offsets of former owners', everyMs: lateEveryMs, log: options.log };
    this.#lateChecks = openPeriodicCheck(() => this.#inTurn(() => this.#removeLate()), late);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#checks, this.#lateChecks].map((checks) => checks[Symbol.asyncDispose]()));
  }

  /** Makes the periodic check follow an endpoint that may have an undelivered event. */
  touch(queue: EndpointQueue): Busy {
    const known = this.#busy.get(queue);
    if (known !== undefined) return known;
    const since = performance.now();
    const one = { first: Number.NaN, since, behind: undefined, soon: 0, hasDropped: false };
    this.#busy.set(queue, one);
    return one;
  }

  /** The floor may have passed the queue's offset, so each write contains an offset until the endpoint has caught up. */
  touchBehind(queue: EndpointQueue): void {
    const now = performance.now();
    this.touch(queue).behind = { since: now, savedAt: now, epoch: queue.offsetEpoch, begun: queue.begun };
  }

  follows({ name, queues }: ActiveIntegration): boolean {
    return this.#toStoreAgain.has(name) || queues.values().some((queue) => this.#busy.has(queue));
  }

  /** The next check stores the endpoint's offset, which says that an event has used up an attempt. */
  storeSoon(queue: EndpointQueue): void {
    this.touch(queue).soon += 1;
  }

  get behind(): number {
    return this.#busy.values().reduce((sum, { behind }) => sum + (behind === undefined ? 0 : 1), 0);
  }

  get behindForMs(): number {
    const now = performance.now();
    return this.#busy.values().reduce((most, { behind }) => Math.max(most, now - (behind?.since ?? now)), 0);
  }

  handBack(integrations: readonly ActiveIntegration[]): Promise<void> {
    return this.#inTurn(async () => {
      const now = performance.now();
      // Each endpoint with an offset counts as behind: if the partition cannot be released, the next checks store newer offsets.
      const names = new Set(integrations.map(({ name }) => name));
      await this.#saveAll([...names], now, () => true);
      // Also queues of an earlier claim, which have ended: because of them, a check would store the offsets again, without any.
      for (const queue of this.#busy.keys()) if (names.has(queue.integration)) this.#busy.delete(queue);
    });
  }

  async #check(): Promise<void> {
    const now = performance.now();
    this.#follow(now);
    // Floors are computed before offsets are written, so events that are read during the writes are above the floors.
    const floors = this.#floorsNow();
    if (!this.#options.owned.isSure) return;
    const due = new Set(this.#toStoreAgain);
    for (const [queue, one] of this.#busy) if (isDue(queue, one, now)) due.add(queue.integration);
    await this.#saveAll([...due], now);
    await this.#saveFloors(floors, now);
  }

  /** Notes the first undelivered event of each endpoint; an endpoint that has none is no longer busy. */
  #follow(now: number): void {
    const { stream, onDropped } = this.#options;
    const { firstSequence } = stream.facts;
    for (const [queue, one] of this.#busy) {
      const first = queue.firstUndelivered();
      if (first === Infinity) {
        this.#busy.delete(queue);
        if (one.behind !== undefined) this.#toStoreAgain.add(queue.integration);
        continue;
      }
      // The stored offset is of an epoch that has ended, so the floor must not pass the events of this epoch.
      if (one.behind !== undefined && one.behind.epoch !== queue.offsetEpoch) {
        one.behind = undefined;
        this.#toStoreAgain.add(queue.integration);
      }
      if (first !== one.first) [one.first, one.since] = [first, now];
      if (first >= firstSequence || one.hasDropped) continue;
      one.hasDropped = true;
      onDropped(queue);
    }
  }

  async #saveAll(names: readonly string[], now: number, isWanted = isDue): Promise<void> {
    for (let from = 0; from < names.length; from += savesAtOnce) {
      const some = names.slice(from, from + savesAtOnce);
      const saves = await Promise.allSettled(some.map((name) => this.#saveOne(name, now, isWanted)));
      for (const save of saves) if (save.status === 'rejected') throw save.reason;
    }
  }

  /** Stores the offsets of the integration's busy endpoints that are behind, or for which `isWanted` holds. */
  async #saveOne(name: string, now: number, isWanted: typeof isDue): Promise<void> {
    const { active, owned, offsets } = this.#options;
    const integration = active.get(name);
    const claim = integration === undefined ? undefined : owned.get(integration.partition);
    if (integration === undefined || claim === undefined) {
      this.#toStoreAgain.delete(name);
      return;
    }
    // Soon after a claim the endpoints are not read yet: a write would remove the offsets at which their queues begin.
    if (integration.revision === undefined) return;
    const points = new Map<string, StoredOffset>();
    const saved: { one: Busy; epoch: number; begun: number; soon: number }[] = [];
    for (const queue of integration.queues.values()) {
      const one = this.#busy.get(queue);
      if (one === undefined || (one.behind === undefined && !isWanted(queue, one, now))) continue;
      points.set(queue.id, queue.offset(Date.now(), now));
      saved.push({ one, epoch: queue.offsetEpoch, begun: queue.begun, soon: one.soon });
    }
    this.#toStoreAgain.add(name);
    await offsets.save(name, claim, points);
    this.#toStoreAgain.delete(name);
    for (const { one, epoch, begun, soon } of saved) {
      one.soon -= soon;
      one.behind = { since: one.behind?.since ?? now, savedAt: now, epoch, begun };
    }
  }

  /**
   * Removes offsets that no queue of this replica follows: a former owner stored them too late, because it froze, or their endpoint
   * was deleted. The next owner would begin at them. The second check that finds an offset removes it, because soon after a claim
   * the queues of the partition are not open yet.
   */
  async #removeLate(): Promise<void> {
    const { active, owned, offsets } = this.#options;
    const before = this.#late;
    this.#late = new Map();
    if (owned.size === 0 || !owned.isSure) return;
    for (const { _id: name, partition, term } of await offsets.termsIn([...owned.keys()])) {
      const claim = owned.get(partition);
      const integration = active.get(name);
      if (claim === undefined || term > claim.term) continue;
      if (integration !== undefined && this.follows(integration)) continue;
      if (before.get(name) === claim.term) await offsets.save(name, claim, new Map());
      else this.#late.set(name, claim.term);
    }
  }

  #floorsNow(): SavedFloor[] {
    const { active, owned } = this.#options;
    const floors = new Map(Array.from(owned, ([partition, one]) => [partition, owned.floorOf(one)]));
    for (const [queue, { first, behind }] of this.#busy) {
      if (behind !== undefined) continue;
      const partition = active.get(queue.integration)?.partition ?? -1;
      const floor = floors.get(partition);
      if (floor !== undefined && first - 1 < floor) floors.set(partition, first - 1);
    }
    return Array.from(owned.values(), ({ partition, term, stream, through }) => ({
      partition,
      term,
      stream,
      floor: floors.get(partition) ?? through,
    }));
  }

  async #saveFloors(floors: readonly SavedFloor[], now: number): Promise<void> {
    if (now - this.#floorsSavedAt < floorsEveryMs) return;
    const text = JSON.stringify(floors);
    if (text === this.#savedFloors) return;
    this.#floorsSavedAt = now;
    await this.#options.claims.saveFloors(floors);
    this.#savedFloors = text;
  }
}

function isDue(queue: EndpointQueue, { since, behind, soon }: Busy, now: number): boolean {
  if (soon > 0) return true;
  if (behind === undefined) return now - since >= heldUpMs;
  return (
    queue.begun - behind.begun >= savedEveryDeliveries ||
    (queue.begun > behind.begun && now - behind.savedAt >= savedEveryMs)
  );
}
