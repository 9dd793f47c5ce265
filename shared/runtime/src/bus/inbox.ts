// Where the answers to a process's questions arrive. NATS's client has such an inbox as well, but makes an error
// with its stack for every question that is answered: a twentieth of what a push costs the gateway.
//
// An answer may take its time, but not in silence: whoever has a question in hand says so every second (serve.ts).
// So one that a dying process took with it is given up within seconds, and not only when its time is over.
import {
  createInbox,
  NoRespondersError,
  TimeoutError,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription,
} from '@nats-io/nats-core';

export interface Question {
  headers: MsgHdrs;
  body: Uint8Array | string | undefined;
  timeoutMs: number;
}

export interface Inbox extends Disposable {
  /** Throws `GoneSilent` when nobody has the question in hand any more. */
  ask(subject: string, question: Question): Promise<Msg>;
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
/** With this status whoever has a question in hand says that it is working on it. */
export const inHandStatus = 102;
export const signEveryMs = 1_000;
/** So much is forgiven to a process that is busy, or that stands still for a moment. */
const silencesMax = 5;

export function openInbox(nats: NatsConnection): Inbox {
  const address = `${createInbox()}.`;
  const waiting = new Map<string, Waiting>();
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
        if (asker !== undefined && answer.headers?.code === inHandStatus) asker.silences = 0;
        else if (answer.data.length > 0 || answer.headers?.code !== nobodyThere) asker?.resolve(answer);
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

  return {
    fail,
    [Symbol.dispose]() {
      clearInterval(watch);
    },
    async ask(subject, { headers, body, timeoutMs }) {
      const { promise, resolve, reject } = Promise.withResolvers<Msg>();
      const reply = address + String(asked);
      asked += 1;
      listening ??= listen();
      waiting.set(reply, { subject, silences: 0, resolve, reject });
      const timer = setTimeout(() => reject(new TimeoutError()), timeoutMs);
      try {
        nats.publish(subject, body, { headers, reply });
        return await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(reply);
      }
    },
  };
}
