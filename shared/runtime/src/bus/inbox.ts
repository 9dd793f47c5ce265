// Where the answers to a process's questions arrive. NATS's client has such an inbox as well, but makes an error
// with its stack for every question that is answered: a twentieth of what a push costs the gateway.
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

export interface Inbox {
  ask(subject: string, question: Question): Promise<Msg>;
  /** Tells those who wait, or wait for this subject alone, that no answer will come. */
  fail(reason: Error, subject?: string): void;
}

interface Waiting {
  subject: string;
  resolve: (answer: Msg) => void;
  reject: (reason: Error) => void;
}

/** With this status and nothing else the server answers for a subject to which nobody listens. */
const nobodyThere = 503;

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
        if (answer.data.length > 0 || answer.headers?.code !== nobodyThere) asker?.resolve(answer);
        else asker?.reject(new NoRespondersError(asker.subject));
      },
    });

  return {
    fail,
    async ask(subject, { headers, body, timeoutMs }) {
      const { promise, resolve, reject } = Promise.withResolvers<Msg>();
      const reply = address + String(asked);
      asked += 1;
      listening ??= listen();
      waiting.set(reply, { subject, resolve, reject });
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
