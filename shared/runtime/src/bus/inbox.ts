// Where the answers to a process's questions arrive. NATS's client has such an inbox as well, but makes an error with
// its stack for every question that is answered: a twentieth of what a push costs the gateway.
//
// An answer may take its time, but not in silence: a replica that works on a question says so every second (serve.ts).
// So the inbox gives up a question that a dying process took with it within seconds, and not only when its time is over.
// And where the asking process stops waiting before the time of a question is over, the inbox says so to the replicas.
//
// A replica with which a question waits for something says once for how long, and is silent for so long (waits.ts).
import { setTimeout as wait } from 'node:timers/promises';
import { answerNowSubject, givenUpSubject, silentMsHeader } from '@integration-sync/contracts';
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
import { confirm, openCallers, type Callers } from './still-waiting.ts';

export interface Question {
  headers: MsgHdrs;
  body: Uint8Array | string | undefined;
  timeoutMs: number;
  /** Fires when the caller no longer waits for the answer. */
  signal?: AbortSignal | undefined;
}

export interface Inbox extends Disposable {
  /** Throws `GoneSilent` when no replica works on the question any more. */
  ask(subject: string, question: Question): Promise<Msg>;
  /** The processes that send questions to this one. */
  readonly callers: Callers;
  /** Asks for the answers to those questions with which replicas wait for something: they come at once. */
  answerNow(): void;
  /** Resolves once no question waits for its answer; false where that takes longer. */
  untilQuiet(withinMs: number): Promise<boolean>;
  /** Fails the questions that wait, or those of this subject alone: no answer will come. */
  fail(reason: Error, subject?: string): void;
}

export class GoneSilent extends Error {
  override readonly name = 'GoneSilent';
}

interface Waiting {
  subject: string;
  /** For how many seconds in a row no replica said that it works on the question; below 0, a silence that it announced. */
  silences: number;
  resolve: (answer: Msg) => void;
  reject: (reason: Error) => void;
}

/** With this status and nothing else nats-server answers for a subject that has no listener. */
const noListenerStatus = 503;
/** With this status a replica says that it works on a question. */
const inHandStatus = 102;
export const signOfLife = (): MsgHdrs => natsHeaders(inHandStatus, 'In hand');
export const signEveryMs = 1_000;
/** A replica may be busy, or stand still for a moment. */
const silencesMax = 5;
const quietEveryMs = 5;

/** A request's subject is `svc.<service>.<noun>.<verb>`. */
export const serviceOf = (subject: string): string => subject.split('.')[1] ?? '';

export function openInbox(nats: NatsConnection, prefix: string): Inbox {
  const address = `${createInbox(prefix)}.`;
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
          // nats-server does not let this process listen; the next question tries again.
          listening = undefined;
          return fail(error);
        }
        handOn(answer, waiting.get(answer.subject));
      },
    });

  // The inbox counts seconds and reads no clock: when this process itself stood still, it counts one silence and not many.
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
    const withdraw = (): void => {
      if (waiting.has(reply) && !nats.isClosed()) nats.publish(givenUpSubject(serviceOf(subject)), reply);
      reject(signal?.reason);
    };
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

  const answerNow = (): void => {
    const silent = waiting.values().filter(({ silences }) => silences < 0);
    for (const service of new Set(silent.map(({ subject }) => serviceOf(subject))))
      nats.publish(answerNowSubject(service), address);
  };

  const callers = openCallers((subject, withinMs) =>
    ask(subject, { headers: signOfLife(), body: undefined, timeoutMs: withinMs }),
  );
  return {
    fail,
    ask,
    callers,
    answerNow,
    untilQuiet(withinMs) {
      answerNow();
      return becomes(() => waiting.size === 0, withinMs);
    },
    [Symbol.dispose]() {
      clearInterval(watch);
    },
  };
}

function handOn(answer: Msg, asker: Waiting | undefined): void {
  if (answer.headers?.code === inHandStatus) {
    if (asker !== undefined) asker.silences = -silentSecondsOf(answer);
    confirm(answer, asker !== undefined);
  } else if (answer.data.length > 0 || answer.headers?.code !== noListenerStatus) asker?.resolve(answer);
  else asker?.reject(new NoRespondersError(asker.subject));
}

const silentSecondsOf = ({ headers }: Msg): number =>
  headers?.has(silentMsHeader) === true ? Math.ceil(Number(headers.get(silentMsHeader)) / 1_000) || 0 : 0;

async function becomes(isSo: () => boolean, withinMs: number): Promise<boolean> {
  const endMs = performance.now() + withinMs;
  while (!isSo() && performance.now() < endMs) await wait(quietEveryMs);
  return isSo();
}
