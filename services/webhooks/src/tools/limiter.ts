// A bound on how much of one kind of work is under way at once, and of how much of it for one integration. The rest
// waits: integrations get their turn one after the other, and what one of them asked for goes first come first served.
//
// With some patience, one is under way at a time until another has waited for so long; then up to the bound are.
// The engines, which deliveries to healthy endpoints need as well, then hardly feel fifty endpoints that die
// together, and a thousand get their turns all the same.

/** Begins with the work when its turn comes, and never before the limiter has returned. Work may be of no integration. */
export type Limiter = <T>(work: () => Promise<T>, integration?: string) => Promise<T>;

export interface LimiterOptions {
  max: number;
  perIntegrationMax?: number;
  patienceMs?: number;
}

interface Waiting {
  since: number;
  begin(): void;
}

interface Queue {
  waiting: Waiting[];
  underWay: number;
}

export function openLimiter({ max, perIntegrationMax = max, patienceMs = 0 }: LimiterOptions): Limiter {
  /** In the order in which they get the next turn. */
  const queues = new Map<string, Queue>();
  let underWay = 0;

  const mayBegin = ({ since }: Waiting): boolean =>
    underWay === 0 || (underWay < max && performance.now() - since >= patienceMs);

  const admit = (): void => {
    for (const [integration, queue] of Array.from(queues)) {
      const [first] = queue.waiting;
      if (first === undefined || queue.underWay >= perIntegrationMax || !mayBegin(first)) continue;
      queue.waiting.shift();
      queue.underWay += 1;
      underWay += 1;
      // To the end of the queue.
      queues.delete(integration);
      queues.set(integration, queue);
      first.begin();
      admit();
      return;
    }
  };

  const leave = (integration: string, queue: Queue): void => {
    underWay -= 1;
    queue.underWay -= 1;
    if (queue.underWay === 0 && queue.waiting.length === 0) queues.delete(integration);
    admit();
  };

  const queueOf = (integration: string): Queue => {
    const queue = queues.get(integration) ?? { waiting: [], underWay: 0 };
    queues.set(integration, queue);
    return queue;
  };

  return async (work, integration = '') => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const queue = queueOf(integration);
    queue.waiting.push({ since: performance.now(), begin: resolve });
    admit();
    // A millisecond more, as timers count whole ones.
    const timer = setTimeout(admit, patienceMs + 1);
    await promise;
    clearTimeout(timer);
    try {
      return await work();
    } finally {
      leave(integration, queue);
    }
  };
}
