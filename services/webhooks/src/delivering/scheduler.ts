// Which delivery is next: in flight are a bounded number in all, an integration has its share of them, and free ones go to
// the integrations in turn, and there to the endpoints in turn.
//
//   an integration   up to its share of all (shares.ts), so that some are free for one that has none
//   an endpoint      8 or what its caller asks for, while its integration has less than half of its share and of all; 1
//                    beyond that, so that a thousand hanging endpoints leave room for its others
import { inFlightMaxOf } from '../endpoints/endpoint.ts';
import type { StreamEvent } from '../log/batch.ts';
import { openShares } from '../tools/shares.ts';
import type { Delivery, EndpointQueue } from './endpoint-queue.ts';

export interface Scheduler {
  readonly inFlight: number;
  /** Endpoints that have something to do and wait for their turn. */
  readonly waiting: number;
  /** The endpoint may have something to do. */
  wake(queue: EndpointQueue): void;
  /** Begins nothing more, and resolves once nothing is in flight. */
  close(): Promise<void>;
}

export interface SchedulerOptions {
  inFlightMax: number;
  /** Whether anything may begin. */
  mayBegin: () => boolean;
  /** One attempt and what follows from it. Never fails. */
  deliver: (queue: EndpointQueue, delivery: Delivery, event: StreamEvent) => Promise<void>;
  /** Makes it possible to read the queue from there on, and wakes it. */
  load: (queue: EndpointQueue, sequence: number) => void;
  now?: () => number;
}

const shareLimits = { timesFree: 10, keptOf: 1 / 100 };
/** Where nothing may begin, the scheduler asks again. */
const againMs = 100;
const timerMsMax = 60_000;

export function openScheduler(options: SchedulerOptions): Scheduler {
  const { inFlightMax, mayBegin, deliver, load, now = () => performance.now() } = options;
  const { timesFree, keptOf } = shareLimits;
  const places = openShares({ max: inFlightMax, timesFree, kept: Math.floor(inFlightMax * keptOf) });
  /** By integration, in the order of their turns; those of an integration in theirs. */
  const ready = new Map<string, Set<EndpointQueue>>();
  const timers = new Map<EndpointQueue, NodeJS.Timeout>();
  let isClosed = false;
  let onIdle: (() => void) | undefined;
  let pumping: NodeJS.Timeout | undefined;
  let isPumping = false;

  const limitOf = ({ integration, subscriber }: EndpointQueue): number =>
    places.of(integration) < Math.min(inFlightMax, places.share) / 2 ? inFlightMaxOf(subscriber) : 1;

  const begin = (queue: EndpointQueue, delivery: Delivery, event: StreamEvent): void => {
    queue.begin(delivery, now());
    places.take(queue.integration);
    void deliver(queue, delivery, event).finally(() => {
      places.giveBack(queue.integration);
      if (places.taken === 0) onIdle?.();
      wake(queue);
    });
  };

  const wakeAfter = (queue: EndpointQueue, ms: number): void => {
    clearTimeout(timers.get(queue));
    const timer = setTimeout(
      () => {
        timers.delete(queue);
        wake(queue);
      },
      Math.min(Math.ceil(ms) + 1, timerMsMax),
    );
    timers.set(queue, timer);
  };

  /** True where one more has begun, so that the endpoint stays in turn. */
  const step = (queue: EndpointQueue): boolean => {
    const next = queue.next(now(), limitOf(queue));
    if (next.kind === 'wait') wakeAfter(queue, next.ms);
    if (next.kind === 'load') load(queue, next.sequence);
    if (next.kind !== 'deliver') return false;
    begin(queue, next.delivery, next.event);
    return true;
  };

  /** One turn of the integration: one delivery, of the first of its endpoints that has one. */
  const turnOf = (queues: Set<EndpointQueue>): boolean => {
    for (const queue of queues) {
      queues.delete(queue);
      if (!step(queue)) continue;
      queues.add(queue);
      return true;
    }
    return false;
  };

  const pump = (): void => {
    if (isPumping || isClosed) return;
    if (!mayBegin()) {
      if (ready.size > 0) pumping ??= setTimeout(() => ((pumping = undefined), pump()), againMs);
      return;
    }
    isPumping = true;
    for (let went = true; went && places.free > 0;) {
      went = false;
      for (const [integration, queues] of ready) {
        if (places.free === 0) break;
        if (!places.mayTake(integration)) continue;
        // To the end of the round.
        ready.delete(integration);
        if (!turnOf(queues)) continue;
        went = true;
        ready.set(integration, queues);
      }
    }
    isPumping = false;
  };

  let soon: NodeJS.Immediate | undefined;
  const wake = (queue: EndpointQueue): void => {
    if (isClosed || queue.isEnded) return;
    const queues = ready.get(queue.integration) ?? new Set();
    queues.add(queue);
    ready.set(queue.integration, queues);
    soon ??= setImmediate(() => {
      soon = undefined;
      pump();
    });
  };

  return {
    get inFlight() {
      return places.taken;
    },
    get waiting() {
      return ready.values().reduce((sum, queues) => sum + queues.size, 0);
    },
    wake,
    async close() {
      isClosed = true;
      clearTimeout(pumping);
      clearImmediate(soon);
      for (const timer of timers.values()) clearTimeout(timer);
      if (places.taken > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
  };
}
