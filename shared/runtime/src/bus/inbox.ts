// Where the answers to a process's questions arrive. NATS's client has such an inbox as well, but makes an error
// with its stack for every question that is answered: a twentieth of what a push costs the gateway.
//
// An answer may take its time, but not in silence: whoever has a question in hand says so every second (serve.ts).
// So one that a dying process took with it is given up within seconds, and not only when its time is over.
//
// A replica that has a question in hand may also ask whether its answer is still waited for, before it does what
// could no longer be undone: the caller may have been told long ago that its request failed. From the answer it learns
// the clock of the process that asks, and so how old that one's questions are when they come (clocks.ts).
import { setTimeout as wait } from 'node:timers/promises';
import { requestHeaders } from '@integration-sync/contracts';
import {
  createInbox,
  headers as natsHeaders,
  NoRespondersError,
  TimeoutError,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription,
} from '@nats-io/nats-core';
import { openClocks } from './clocks.ts';

export interface Question {
  headers: MsgHdrs;
  body: Uint8Array | string | undefined;
  timeoutMs: number;
  /** Fires when the answer is not waited for any more. */
  signal?: AbortSignal | undefined;
}

export interface Inbox extends Disposable {
  /** Throws `GoneSilent` when nobody has the question in hand any more. */
  ask(subject: string, question: Question): Promise<Msg>;
  /** Whether the process that asked in `message` still waits for the answer. Where it cannot be asked, it does not. */
  isWaitedFor(message: Msg): Promise<boolean>;
  /** When the question was sent, by `performance.now()`, or earlier; undefined where that is not known. */
  sentAtMs(message: Msg): number | undefined;
  /** Resolves once no answer is waited for; false where that takes longer. */
  untilQuiet(withinMs: number): Promise<boolean>;
  /** Tells those who wait, or wait for this subject alone, that no answer will come. */
  fail(reason: Error, subject?: string): void;
}

export class GoneSilent extends Error {
  override readonly name = 'GoneSilent';
}

interface Waiting {
  subject: string;
  /** How often nothing was heard of it when something should have been. */
  silences: number;
  resolve: (answer: Msg) => void;
  reject: (reason: Error) => void;
}

/** With this status and nothing else the server answers for a subject to which nobody listens. */
const nobodyThere = 503;
/** With this status a replica that has a question in hand says that it is working on it. */
const inHandStatus = 102;
export const signOfLife = natsHeaders(inHandStatus, 'In hand');
/** With this status a process says that it does not wait for that answer any more. */
const givenUpStatus = 410;
/** What the clock of the process that answers says. */
const clockHeader = 'clock-ms';
/** A caller whose process is busy for so long is taken for one that has given up. */
const confirmedWithinMs = 2_500;
export const signEveryMs = 1_000;
/** So much is forgiven to a process that is busy, or that stands still for a moment. */
const silencesMax = 5;
const quietEveryMs = 5;

/** Of a sign of life that asks, too. */
function confirm(question: Msg, isWaiting: boolean): void {
  if ((question.reply ?? '') === '') return;
  const headers = isWaiting ? natsHeaders() : natsHeaders(givenUpStatus, 'Given up');
  headers.set(clockHeader, String(performance.now()));
  question.respond(undefined, { headers });
}

/** Replies to one process differ in their last part only. */
const askerOf = (reply: string): string => reply.slice(0, reply.lastIndexOf('.'));

const numberIn = (text = ''): number | undefined => (/^\d+(\.\d+)?$/.test(text) ? Number(text) : undefined);

export function openInbox(nats: NatsConnection, prefix: string): Inbox {
  const address = `${createInbox(prefix)}.`;
  const waiting = new Map<string, Waiting>();
  const clocks = openClocks();
  let asked = 0;
  let listening: Subscription | undefined;

  const fail = (reason: Error, subject?: string): void => {
    for (const one of waiting.values())
      if (subject === undefined || one.subject === subject) one.reject(reason);
  };

  const listen = (): Subscription =>
    nats.subscribe(`${address}*`, {
      callback(error, answer) {
        if (error !== null) {
          // The server does not let us listen; perhaps it will, the next time.
          listening = undefined;
          return fail(error);
        }
        const asker = waiting.get(answer.subject);
        if (answer.headers?.code === inHandStatus) {
          if (asker !== undefined) asker.silences = 0;
          confirm(answer, asker !== undefined);
        } else if (answer.data.length > 0 || answer.headers?.code !== nobodyThere) asker?.resolve(answer);
        else asker?.reject(new NoRespondersError(asker.subject));
      },
    });

  // Counted, not timed: when this process itself stood still, one silence has passed and not many.
  const watch = setInterval(() => {
    for (const one of waiting.values()) {
      one.silences += 1;
      if (one.silences > silencesMax) one.reject(new GoneSilent());
    }
  }, signEveryMs);
  watch.unref();

  const ask = async (subject: string, question: Question): Promise<Msg> => {
    const { headers, body, timeoutMs, signal } = question;
    const { promise, resolve, reject } = Promise.withResolvers<Msg>();
    const reply = address + String(asked);
    asked += 1;
    listening ??= listen();
    waiting.set(reply, { subject, silences: 0, resolve, reject });
    const timer = setTimeout(() => reject(new TimeoutError()), timeoutMs);
    const withdraw = (): void => reject(signal?.reason);
    signal?.addEventListener('abort', withdraw, { once: true });
    try {
      signal?.throwIfAborted();
      nats.publish(subject, body, { headers, reply });
      return await promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(reply);
    }
  };

  return {
    fail,
    ask,
    sentAtMs({ reply = '', headers }) {
      const theirsMs = numberIn(headers?.get(requestHeaders.sentAtMs));
      return theirsMs === undefined ? undefined : clocks.read(askerOf(reply), theirsMs);
    },
    async isWaitedFor({ reply = '' }) {
      const askedAtMs = performance.now();
      try {
        const { headers } = await ask(reply, {
          headers: signOfLife,
          body: undefined,
          timeoutMs: confirmedWithinMs,
        });
        const theirsMs = numberIn(headers?.get(clockHeader));
        if (theirsMs !== undefined) clocks.learn(askerOf(reply), theirsMs, askedAtMs);
        return headers?.code !== givenUpStatus;
      } catch {
        // Its process is gone, does not answer, or is out of reach: none of them hands an answer on.
        return false;
      }
    },
    async untilQuiet(withinMs) {
      const endMs = performance.now() + withinMs;
      while (waiting.size > 0 && performance.now() < endMs) await wait(quietEveryMs);
      return waiting.size === 0;
    },
    [Symbol.dispose]() {
      clearInterval(watch);
    },
  };
}
