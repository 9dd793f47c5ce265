// Whether the caller of a request still waits. A replica may ask this before it writes: the caller may have learnt long ago that
// its request failed. The answer also carries the caller's clock, which tells the replica the age of that caller's next requests.
import { Failure, requestHeaders } from '@integration-sync/contracts';
import { headers as natsHeaders, type Msg } from '@nats-io/nats-core';
import { callerOf, isQuestion } from './caller.ts';

/** The status by which a process says that it no longer waits for the reply. */
const givenUpStatus = 410;
/** The header with the `performance.now()` of the process that answers. */
const clockHeader = 'clock-ms';
/** A caller that does not answer within this time counts as no longer waiting. */
const confirmedWithinMs = 2_500;

/** The caller's part: answers a replica that asks, by a message with a reply subject, whether the caller still waits. */
export function confirm(question: Msg, isWaiting: boolean): void {
  if (!isQuestion(question)) return;
  const headers = isWaiting ? natsHeaders() : natsHeaders(givenUpStatus, 'Given up');
  headers.set(clockHeader, String(performance.now()));
  question.respond(undefined, { headers });
}

/** The replica's part. `askBack` asks a caller whether it still waits, and resolves with the answer. */
export function openCallers(askBack: (subject: string, withinMs: number) => Promise<Msg>) {
  const clocks = openClocks();
  return {
    /** Whether the sender of the message still waits for the reply. A sender that cannot be asked counts as gone: `onSilence`. */
    async isWaiting(request: Msg, onSilence: (subject: string, error: unknown) => void): Promise<boolean> {
      const askedAtMs = performance.now();
      const { reply, signs } = callerOf(request);
      try {
        const { headers } = await askBack(signs, confirmedWithinMs);
        const theirsMs = numberIn(headers?.get(clockHeader));
        if (theirsMs !== undefined) clocks.learn(processOf(reply), theirsMs, askedAtMs);
        return headers?.code !== givenUpStatus;
      } catch (error) {
        // The caller's process is gone, frozen or out of reach, so it cannot pass a reply on.
        onSilence(signs, error);
        return false;
      }
    },
    /** A lower bound of the time at which the request was sent, by this process's `performance.now()`; undefined if unknown. */
    sentAtMs(request: Msg): number | undefined {
      const theirsMs = numberIn(request.headers?.get(requestHeaders.sentAtMs));
      return theirsMs === undefined ? undefined : clocks.read(processOf(callerOf(request).reply), theirsMs);
    },
  };
}

interface Waited {
  /** Until when the caller promised to wait, by `performance.now()`. */
  readonly waitedForUntilMs: number;
  isWaitedFor: () => Promise<boolean>;
}

/**
 * Called right before a write. Throws if the caller has given up: if this replica was frozen with the request in its socket, the caller
 * may since have had another replica carry out newer requests, which this write would undo.
 */
export async function refuseGivenUp(request: Waited): Promise<void> {
  if (performance.now() <= request.waitedForUntilMs || (await request.isWaitedFor())) return;
  throw new Failure(
    'timeout',
    'The caller no longer waits for this request, so the service changes nothing.',
  );
}

/** The reply subject without its last token: the last token names the request, the tokens before it the process. */
const processOf = (reply: string): string => reply.slice(0, reply.lastIndexOf('.'));

const numberIn = (text = ''): number | undefined => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined);

// `performance.now()` counts from the start of each process, and clocks of machines differ. So this process takes the other clock's
// value from the answer to a question, and from then on knows the maximum age of the other process's messages.

interface Learnt {
  /** The difference of two clocks: a time of the other process plus `offsetMs` gives a time of this process. */
  offsetMs: number;
  atMs: number;
}

/** Within this time two clocks drift apart by less than a millisecond. */
const knownForMs = 30_000;
const processesMax = 1_000;

export function openClocks(now: () => number = () => performance.now()) {
  const learnt = new Map<string, Learnt>();
  return {
    /** Notes that the other process's clock read `theirsMs` at some moment after `askedAtMs` of this process. */
    learn(process: string, theirsMs: number, askedAtMs: number): void {
      learnt.delete(process);
      const [oldest] = learnt.keys();
      if (oldest !== undefined && learnt.size >= processesMax) learnt.delete(oldest);
      learnt.set(process, { offsetMs: askedAtMs - theirsMs, atMs: now() });
    },
    /** The earliest moment, by our clock, at which the other clock can have read `theirsMs`; undefined if unknown. */
    read(process: string, theirsMs: number): number | undefined {
      const known = learnt.get(process);
      const nowMs = now();
      if (known === undefined || nowMs - known.atMs > knownForMs) return undefined;
      const oursMs = theirsMs + known.offsetMs;
      // A time in the future means that one of the clocks stopped, as on a suspended machine.
      return oursMs <= nowMs ? oursMs : undefined;
    },
  };
}
