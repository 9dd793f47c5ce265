// Begins deliveries up to a bound, in turns over the integrations that have work, and over their endpoints.
//
//   deliveries of    how many may be in flight
//   ───────────────  ─────────────────────────────────────────────────────────────────────────────────────────────────
//   an integration   its share of the bound (semaphore.ts), so that an integration without deliveries can begin some
//   an endpoint      8, or as many as its caller asks for, if its integration has less than half of its share and of
//                    the bound in flight; else 1, so that a thousand hanging endpoints leave room for the others
import { openSemaphore, type Semaphore } from '@integration-sync/runtime/semaphore';
import { inFlightMaxOf } from '../endpoints/endpoint.ts';
import type { StreamEvent } from '../log/logged-batch.ts';
import type { Delivery, EndpointQueue } from './endpoint-queue.ts';

interface SchedulerOptions {
  inFlightMax: number;
  mayBegin: () => boolean;
  now?: () => number;
}

export interface Work {
  deliver: (queue: EndpointQueue, delivery: Delivery, event: StreamEvent) => Promise<void>;
  /** Loads the chunk of the log at this sequence, and then calls `wake` with the queue. */
  load: (queue: EndpointQueue, sequence: number) => void;
}

/** How often the scheduler asks `mayBegin` while no delivery may begin. */
const againMs = 100;
const timerMsMax = 60_000;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #now: () => number;
  #work: Work | undefined;
  readonly #semaphore: Semaphore;
  /** Queues that may have work, by integration. Integrations and queues are in the order of their turns. */
  readonly #ready = new Map<string, Set<EndpointQueue>>();
  readonly #timers = new Map<EndpointQueue, NodeJS.Timeout>();
  #isClosed = false;
  #onIdle: (() => void) | undefined;
  #pumpingSoon: NodeJS.Immediate | undefined;
  #pumpingAgain: NodeJS.Timeout | undefined;

  constructor(options: SchedulerOptions) {
    const { inFlightMax, now = () => performance.now() } = options;
    this.#options = options;
    this.#now = now;
    const share = { timesFree: 10, kept: Math.floor(inFlightMax / 100) };
    this.#semaphore = openSemaphore({ max: inFlightMax, share });
  }

  get inFlight(): number {
    return this.#semaphore.held;
  }

  get waiting(): number {
    return this.#ready.values().reduce((sum, queues) => sum + queues.size, 0);
  }

  start(work: Work): void {
    this.#work = work;
    this.#pump();
  }

  wake(queue: EndpointQueue): void {
    if (this.#isClosed || queue.isEnded) return;
    this.#ready.getOrInsertComputed(queue.integration, () => new Set()).add(queue);
    this.#pumpingSoon ??= setImmediate(() => {
      this.#pumpingSoon = undefined;
      this.#pump();
    });
  }

  /** Begins no more deliveries, and resolves once no delivery is in flight. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#pumpingAgain);
    clearImmediate(this.#pumpingSoon);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    if (this.#semaphore.held > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  #pump(): void {
    const work = this.#work;
    if (work === undefined || this.#isClosed) return;
    if (!this.#options.mayBegin()) {
      if (this.#ready.size === 0) return;
      this.#pumpingAgain ??= setTimeout(() => {
        this.#pumpingAgain = undefined;
        this.#pump();
      }, againMs);
      return;
    }
    for (let went = true; went && this.#semaphore.free > 0;) {
      went = false;
      for (const [integration, queues] of this.#ready) {
        if (this.#semaphore.free === 0) break;
        if (!this.#semaphore.mayTake(integration)) continue;
        this.#ready.delete(integration);
        if (!this.#turnOf(queues, work)) continue;
        went = true;
        this.#ready.set(integration, queues);
      }
    }
  }

  /** Begins one delivery, for the first of the endpoints that has a due event. */
  #turnOf(queues: Set<EndpointQueue>, work: Work): boolean {
    for (const queue of queues) {
      queues.delete(queue);
      if (!this.#step(queue, work)) continue;
      queues.add(queue);
      return true;
    }
    return false;
  }

  /** Does the next step of an endpoint queue. True if a delivery has begun: the endpoint then gets another turn. */
  #step(queue: EndpointQueue, { deliver, load }: Work): boolean {
    const next = queue.next(this.#now(), this.#limitOf(queue));
    if (next.kind === 'wait') this.#wakeAfter(queue, next.ms);
    if (next.kind === 'load') load(queue, next.sequence);
    if (next.kind !== 'deliver') return false;
    queue.begin(next.delivery, this.#now());
    this.#semaphore.take(queue.integration);
    void deliver(queue, next.delivery, next.event).finally(() => {
      this.#semaphore.release(queue.integration);
      if (this.#semaphore.held === 0) this.#onIdle?.();
      this.wake(queue);
    });
    return true;
  }

  #limitOf({ integration, subscriber }: EndpointQueue): number {
    const half = Math.min(this.#options.inFlightMax, this.#semaphore.share) / 2;
    return this.#semaphore.heldBy(integration) < half ? inFlightMaxOf(subscriber) : 1;
  }

  #wakeAfter(queue: EndpointQueue, ms: number): void {
    clearTimeout(this.#timers.get(queue));
    const wake = (): void => {
      this.#timers.delete(queue);
      this.wake(queue);
    };
    this.#timers.set(queue, setTimeout(wake, Math.min(Math.ceil(ms) + 1, timerMsMax)));
  }
}
