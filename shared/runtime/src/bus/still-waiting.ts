// Whether a caller still waits. A replica that works on a question may ask this before it does what it cannot undo: the
// caller may have learnt long ago that its request failed. From the answer the replica learns the clock of the process
// that asks, and so how old that process's questions are when they come.
import { requestHeaders } from '@integration-sync/contracts';
import { headers as natsHeaders, type Msg } from '@nats-io/nats-core';

/** What a replica learns of the processes that send it questions. */
export interface Callers {
  /** Whether the process that asked in `message` still waits for the answer. Where it cannot be asked, it does not. */
  isWaiting(message: Msg): Promise<boolean>;
  /** When the question was sent, by `performance.now()`, or earlier; undefined where that is not known. */
  sentAtMs(message: Msg): number | undefined;
}

/** With this status a process says that it no longer waits for that answer. */
const givenUpStatus = 410;
/** What the clock of the process that answers says. */
const clockHeader = 'clock-ms';
/** A caller whose process is busy for so long counts as one that has given up. */
const confirmedWithinMs = 2_500;

/** The caller's part: answers a sign of life, if it asks. */
export function confirm(question: Msg, isWaiting: boolean): void {
  if ((question.reply ?? '') === '') return;
  const headers = isWaiting ? natsHeaders() : natsHeaders(givenUpStatus, 'Given up');
  headers.set(clockHeader, String(performance.now()));
  question.respond(undefined, { headers });
}

/** The replica's part. `askBack` sends a sign of life that asks for an answer, and resolves with that answer. */
export function openCallers(askBack: (subject: string, withinMs: number) => Promise<Msg>): Callers {
  const clocks = openClocks();
  return {
    async isWaiting({ reply = '' }) {
      const askedAtMs = performance.now();
      try {
        const { headers } = await askBack(reply, confirmedWithinMs);
        const theirsMs = numberIn(headers?.get(clockHeader));
        if (theirsMs !== undefined) clocks.learn(processOf(reply), theirsMs, askedAtMs);
        return headers?.code !== givenUpStatus;
      } catch {
        // Its process is gone, does not answer, or is out of reach: none of them hands an answer on.
        return false;
      }
    },
    sentAtMs({ reply = '', headers }) {
      const theirsMs = numberIn(headers?.get(requestHeaders.sentAtMs));
      return theirsMs === undefined ? undefined : clocks.read(processOf(reply), theirsMs);
    },
  };
}

/** Replies to one process differ in their last part only. */
const processOf = (reply: string): string => reply.slice(0, reply.lastIndexOf('.'));

const numberIn = (text = ''): number | undefined => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined);

// When a message was sent, told by the clock of the process that receives it. Every process counts from a start of its
// own, and clocks of different machines differ; so a process that asks another one something learns from the answer what
// the other one's clock said at a moment between question and answer. From then on it knows how old that one's messages
// are, at most, to within the time that the question took.

interface Learnt {
  /** To be added to what their clock says. */
  offsetMs: number;
  atMs: number;
}

/** Two clocks drift apart by less than a millisecond in that time. */
const knownForMs = 30_000;
const processesMax = 1_000;

export function openClocks(now: () => number = () => performance.now()) {
  const learnt = new Map<string, Learnt>();
  return {
    /** The other process's clock said `theirsMs` at some moment since `askedAtMs`. */
    learn(process: string, theirsMs: number, askedAtMs: number): void {
      learnt.delete(process);
      const [oldest] = learnt.keys();
      if (oldest !== undefined && learnt.size >= processesMax) learnt.delete(oldest);
      learnt.set(process, { offsetMs: askedAtMs - theirsMs, atMs: now() });
    },
    /** The earliest moment, by our clock, at which theirs can have said that; undefined where it is not known. */
    read(process: string, theirsMs: number): number | undefined {
      const known = learnt.get(process);
      const nowMs = now();
      if (known === undefined || nowMs - known.atMs > knownForMs) return undefined;
      const oursMs = theirsMs + known.offsetMs;
      // Nothing comes from the future: one of the clocks stood still together with its machine.
      return oursMs <= nowMs ? oursMs : undefined;
    },
  };
}
