// A request that waits for something which may not come for long, such as an event. Its replica says so once, with a sign of
// life that names how long the wait may be, and sends no more of them. The wait ends early where
//
//   the caller does not wait any more         nothing is left to answer
//   the caller's process is about to end      it asks for its answers (answer-now), and hands them on
//   the replica stops or leaves its server    it answers all requests that wait, at once
//   the line to NATS was down                 callers may have asked again, elsewhere
import { requestHeaders, silentMsHeader } from '@integration-sync/contracts';
import type { Msg } from '@nats-io/nats-core';
import { signOfLife } from './inbox.ts';

/** The wait of one request. After it is disposed of, the replica sends signs of life again. */
export interface Wait extends Disposable {
  /** The request is to be answered now, with what there is. */
  readonly isOver: boolean;
  /** Resolves after the next `wake`, at once if one came since it resolved last; and where the wait is over. */
  woken(): Promise<void>;
  wake(): void;
}

/** The waits of the requests that a replica has. */
export interface Waits {
  /** For so long, and up to half a second more (`endsEveryMs`). */
  begin(message: Msg, forMs: number): Wait;
  /** Whether the request waits, so that it sends no sign of life. */
  has(message: Msg): boolean;
  end(isMeant: (message: Msg) => boolean): void;
  /** All of them end, and new ones at once; until the replica takes requests again. */
  endAll(): void;
  resume(): void;
}

/**
 * Waits that are over within this time end together, and callers that wait again come together. A request that finds each process
 * asleep costs three times as much as one of several.
 */
const endsEveryMs = 500;

export function openWaits(): Waits {
  /** By request, what ends its wait. */
  const waits = new Map<Msg, () => void>();
  const ends = openEnds();
  let mayWait = true;

  const end = (isMeant: (message: Msg) => boolean): void => {
    for (const [message, over] of Array.from(waits)) if (isMeant(message)) over();
  };

  return {
    begin(message, forMs) {
      let isOver = false;
      let isWoken = false;
      let next: PromiseWithResolvers<void> | undefined;
      const wake = (): void => {
        isWoken = true;
        next?.resolve();
        next = undefined;
      };
      const over = (): void => {
        isOver = true;
        wake();
      };
      const { untilEndMs, leave } = ends.join(over, forMs);
      if (mayWait) {
        waits.set(message, over);
        tellInHand(message, untilEndMs);
      } else over();
      return {
        get isOver() {
          return isOver;
        },
        async woken() {
          if (!isWoken) await (next ??= Promise.withResolvers()).promise;
          isWoken = isOver;
        },
        wake,
        [Symbol.dispose]() {
          leave();
          waits.delete(message);
        },
      };
    },
    has: (message) => waits.has(message),
    end,
    endAll() {
      mayWait = false;
      end(() => true);
    },
    resume() {
      mayWait = true;
    },
  };
}

/** One timer for all that ends at a time, so that the replies are one message to the kernel. */
function openEnds() {
  const byTime = new Map<number, Set<() => void>>();

  const open = (endMs: number, untilEndMs: number): Set<() => void> => {
    const ends = new Set<() => void>();
    byTime.set(endMs, ends);
    setTimeout(() => {
      byTime.delete(endMs);
      for (const end of ends) end();
    }, untilEndMs).unref();
    return ends;
  };

  return {
    join(end: () => void, forMs: number): { untilEndMs: number; leave: () => void } {
      // Replicas whose clocks agree end their waits together.
      const nowMs = performance.timeOrigin + performance.now();
      const endMs = Math.ceil((nowMs + forMs) / endsEveryMs) * endsEveryMs;
      const untilEndMs = endMs - nowMs;
      const ends = byTime.get(endMs) ?? open(endMs, untilEndMs);
      ends.add(end);
      return { untilEndMs, leave: () => void ends.delete(end) };
    },
  };
}

/** Only to one of ours, who waits for more than the first message: it says for how long. */
export function tellInHand(message: Msg, silentMs?: number): void {
  if (message.headers?.has(requestHeaders.timeoutMs) !== true) return;
  const headers = signOfLife();
  if (silentMs !== undefined) headers.set(silentMsHeader, String(Math.ceil(silentMs)));
  message.respond(undefined, { headers });
}
