// A long poll: a request that waits for an event, perhaps for long. Its replica sends one sign of life that names the length of the
// wait, and no further sign until the wait is over. The wait ends early when
//
//   the caller has given up                     no reply is needed
//   the caller's process is about to end        it asks for its replies (answer-now), and passes them on
//   the replica stops or moves to a new server  it answers all waiting requests immediately
//   the NATS connection was down                callers may have sent the request again, to another replica
import { requestHeaders, silentMsHeader } from '@integration-sync/contracts';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { callerOf } from './caller.ts';
import { signOfLife } from './inbox.ts';

/** The wait of one request. Once it is disposed of, the replica sends signs of life for the request again. */
export type Wait = ReturnType<Waits['begin']>;

export type Waits = ReturnType<typeof openWaits>;

/**
 * Waits that are over within the same half second end together, so their callers also send their next requests together. If each
 * request wakes the processes by itself, it costs three times as much.
 */
const endsEveryMs = 500;

export function openWaits(tell: Tell) {
  /** By request, the function that ends its wait. */
  const waits = new Map<Msg, () => void>();
  const ends = openEnds();
  let mayWait = true;

  const end = (isMeant: (message: Msg) => boolean): void => {
    for (const [message, over] of Array.from(waits)) if (isMeant(message)) over();
  };

  return {
    /** Begins a wait of `forMs`, and up to half a second more (`endsEveryMs`). */
    begin(message: Msg, forMs: number) {
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
        tell(message, untilEndMs);
      } else over();
      return {
        /** Whether the request must be answered now, even without an event. */
        get isOver(): boolean {
          return isOver;
        },
        /** Resolves when `wake` is called, or was called since the last `woken`, or when the wait is over. */
        async woken(): Promise<void> {
          if (!isWoken) await (next ??= Promise.withResolvers()).promise;
          isWoken = isOver;
        },
        wake,
        [Symbol.dispose](): void {
          leave();
          waits.delete(message);
        },
      };
    },
    tell,
    /** Whether the request waits, so that the replica sends no sign of life for it. */
    has: (message: Msg): boolean => waits.has(message),
    end,
    /** Ends all waits, and new waits as they begin, until `resume`. */
    endAll(): void {
      mayWait = false;
      end(() => true);
    },
    resume(): void {
      mayWait = true;
    },
  };
}

/** One timer for all waits that end at the same time, so that their replies leave in one write to the socket. */
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
      // The end is rounded by the clock of the machine, so that replicas with equal clocks end their waits together.
      const nowMs = performance.timeOrigin + performance.now();
      const endMs = Math.ceil((nowMs + forMs) / endsEveryMs) * endsEveryMs;
      const untilEndMs = endMs - nowMs;
      const ends = byTime.get(endMs) ?? open(endMs, untilEndMs);
      ends.add(end);
      return { untilEndMs, leave: () => void ends.delete(end) };
    },
  };
}

export type Tell = ReturnType<typeof tellInHand>;

/** Tells a caller of this system (`timeoutMs`) that work goes on. Another caller would take this message for the reply. */
export const tellInHand =
  (nats: Pick<NatsConnection, 'publish'>) =>
  (message: Msg, silentMs?: number): void => {
    if (message.headers?.has(requestHeaders.timeoutMs) !== true) return;
    const headers = signOfLife();
    if (silentMs !== undefined) headers.set(silentMsHeader, String(Math.ceil(silentMs)));
    nats.publish(callerOf(message).signs, undefined, { headers });
  };
