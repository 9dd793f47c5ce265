// What came too much for its lane and waits: how much may, by each way (messages.ts), before nothing more is taken by it.
//
//   the shared way          one bound for all integrations
//   an integration's own    its share at most, and no more than it gets rid of within 200 ms, so that a deep backlog
//                           stays where it is
//   no way                  an owner waits with what is held: that has a bound of its own, and must not stop the stream
//                           for the others
import type { Way } from '../streams/subjects.ts';
import { openShares } from '../tools/shares.ts';

export interface Waiting {
  enter(way: Way | undefined, integration: string): void;
  /** All of one integration. */
  leave(ways: readonly (Way | undefined)[], integration: string): void;
  /** Resolves when there is room for another job that comes by the shared way; undefined if there is now. */
  room(): Promise<void> | undefined;
  /** The same of the integration's own way. */
  backlogRoom(integration: string): Promise<void> | undefined;
  /**
   * What left its lane between the last two calls, and since the last one, is what an integration gets rid of. Says
   * whether anything left since the call before.
   */
  tick(): boolean;
  /** Those that came from a stream. */
  readonly count: number;
  /** Callers wait for room no longer. */
  close(): void;
}

export interface WaitingLimits {
  sharedMax: number;
  /** Of what integrations have waiting by ways of their own. */
  backlogMax: number;
}

interface Wanting {
  isThere(): boolean;
  come(): void;
}

const backlogShares = { timesFree: 1 };
/** What an integration always may have waiting by its own way, however slow it is. */
const backlogMin = 32;

export function openWaiting({ sharedMax, backlogMax }: WaitingLimits): Waiting {
  const backlog = openShares({ max: backlogMax, ...backlogShares });
  /** How many of its own way left an integration's lanes since the last tick, and between the two before. */
  let leftNow = new Map<string, number>();
  let leftBefore = new Map<string, number>();
  let shared = 0;
  const wanting = new Set<Wanting>();
  let waking: NodeJS.Immediate | undefined;
  let isClosed = false;

  /** One after the other, as each may take up what is free. */
  const wakeOne = (): void => {
    for (const one of wanting) {
      if (!one.isThere()) continue;
      wanting.delete(one);
      one.come();
      if (wanting.size > 0) waking ??= setImmediate(wakeNext);
      return;
    }
  };
  const wakeNext = (): void => {
    waking = undefined;
    wakeOne();
  };

  const untilThere = (isThere: () => boolean): Promise<void> | undefined => {
    if (isThere() || isClosed) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    wanting.add({ isThere, come: resolve });
    return promise;
  };

  const mayTakeBacklog = (integration: string): boolean => {
    const worked = (leftNow.get(integration) ?? 0) + (leftBefore.get(integration) ?? 0);
    return backlog.mayTake(integration) && backlog.of(integration) < Math.max(worked, backlogMin);
  };

  return {
    enter(way, integration) {
      if (way === 'shared') shared += 1;
      if (way === 'backlog') backlog.take(integration);
    },
    leave(ways, integration) {
      for (const way of ways) {
        if (way === 'shared') shared -= 1;
        if (way !== 'backlog') continue;
        backlog.giveBack(integration);
        leftNow.set(integration, (leftNow.get(integration) ?? 0) + 1);
      }
      wakeOne();
    },
    room: () => untilThere(() => shared < sharedMax),
    backlogRoom: (integration) => untilThere(() => mayTakeBacklog(integration)),
    tick() {
      leftBefore = leftNow;
      leftNow = new Map();
      return leftBefore.size > 0;
    },
    get count() {
      return shared + backlog.taken;
    },
    close() {
      isClosed = true;
      for (const one of wanting) one.come();
      wanting.clear();
    },
  };
}
