// Where the replies to a process's requests arrive. The NATS client has such an inbox too, but makes an error with its stack for
// each answered request: a twentieth of what a push costs the gateway.
//
// A replica that works on a request sends a sign of life every second (serve.ts). So the inbox fails a request within seconds when
// the replica dies, before the request times out. When a caller stops waiting, the inbox tells the replicas.
//
// A replica in which a request waits for an event announces once how long it will be silent (waits.ts).
import { setTimeout as wait } from 'node:timers/promises';
import { answerNowSubject, callerSubject, givenUpSubject, silentMsHeader } from '@integration-sync/contracts';
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
import { subscribeLasting, type Lasting } from './lasting.ts';
import { confirm, openCallers } from './still-waiting.ts';

export interface Question {
  /** A function that makes headers gets the reply subject, or undefined if signs of life must come on the reply subject. */
  headers: MsgHdrs | ((reply: string | undefined) => MsgHdrs);
  body: Uint8Array | string | undefined;
  timeoutMs: number;
  /** A signal that aborts when the caller no longer waits for the answer. */
  signal?: AbortSignal | undefined;
}

export type Inbox = ReturnType<typeof openInbox>;

export class GoneSilent extends Error {
  override readonly name = 'GoneSilent';
}

interface Waiting {
  subject: string;
  /** Seconds since the last sign of life; negative while an announced silence lasts. */
  silences: number;
  resolve: (answer: Msg) => void;
  reject: (reason: Error) => void;
}

/** nats-server's "no responders": this status without a body. */
const noListenerStatus = 503;
/** The status of a sign of life, by which a replica says that it works on a request. */
const inHandStatus = 102;
export const signOfLife = (): MsgHdrs => natsHeaders(inHandStatus, 'In hand');
export const signEveryMs = 1_000;
/** How many signs of life may be missing: a busy or frozen replica may leave out some. */
const silencesMax = 5;
const quietEveryMs = 5;

/** A request's subject is `svc.<service>.<noun>.<verb>`. */
export const serviceOf = (subject: string): string => subject.split('.')[1] ?? '';

export function openInbox(nats: NatsConnection, prefix: string) {
  const address = `${createInbox(prefix)}.`;
  const waiting = new Map<string, Waiting>();
  let asked = 0;
  let listening: Subscription | undefined;

  /** Fails all waiting requests, or those of `subject` alone: no reply will come. */
  const fail = (reason: Error, subject?: string): void => {
    for (const one of waiting.values())
      if (subject === undefined || one.subject === subject) one.reject(reason);
  };

  const onMessage: OnMessage = (answer, number) => handOn(answer, waiting.get(address + number));
  /** Subscribes to replies. If nats-server refuses, all waiting requests fail, and the next request subscribes again. */
  const listen = (): Subscription =>
    nats.subscribe(`${address}*`, {
      callback(error, message) {
        if (error === null) return onMessage(message, message.subject.slice(address.length));
        listening = undefined;
        fail(error);
      },
    });
  const signs = openSigns(nats, address, onMessage);

  // The inbox counts ticks and reads no clock: a time in which this process was frozen counts as one second of silence.
  const watch = setInterval(() => {
    for (const one of waiting.values()) {
      one.silences += 1;
      if (one.silences > silencesMax) one.reject(new GoneSilent());
    }
  }, signEveryMs).unref();

  /** Sends a request and resolves with the reply. Throws `GoneSilent` when no replica works on the request any more. */
  const ask = async (subject: string, { headers, body, timeoutMs, signal }: Question): Promise<Msg> => {
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
      const made = typeof headers === 'function' ? headers(signs.areHeard() ? reply : undefined) : headers;
      nats.publish(subject, body, { headers: made, reply });
      return await promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(reply);
    }
  };

  /** Tells the replicas in which requests of this process wait for events to reply immediately. */
  const answerNow = (): void => {
    const silent = waiting.values().filter(({ silences }) => silences < 0);
    for (const service of new Set(silent.map(({ subject }) => serviceOf(subject))))
      nats.publish(answerNowSubject(service), address);
  };

  return {
    fail,
    ask,
    /** The processes that send requests to this process. */
    callers: openCallers((subject, withinMs) =>
      ask(subject, { headers: signOfLife(), body: undefined, timeoutMs: withinMs }),
    ),
    answerNow,
    /** Notes that the client is connected again, perhaps with other permissions. */
    arrived: () => signs.tryAgain(),
    /** Resolves with true once no request waits for its reply, or with false after `withinMs`. */
    async untilQuiet(withinMs: number): Promise<boolean> {
      answerNow();
      const endMs = performance.now() + withinMs;
      while (waiting.size > 0 && performance.now() < endMs) await wait(quietEveryMs);
      return waiting.size === 0;
    },
    [Symbol.dispose]: () => clearInterval(watch),
  };
}

/** `number` is the last token of the subject, which names the request. */
type OnMessage = (message: Msg, number: string) => void;

/** Subscribes to signs of life on a separate subject, if NATS permits: the permissions of earlier releases do not allow it. */
function openSigns(nats: NatsConnection, address: string, onMessage: OnMessage) {
  const signsAddress = callerSubject(`${address}0`)?.slice(0, -1);
  let hearing: Lasting | undefined;
  let isRefused = false;
  const listen = (signs: string): Lasting =>
    subscribeLasting(nats, `${signs}*`, {
      callback(error, message) {
        if (error !== null) isRefused = true;
        // Each service may publish here, so that an answer on this subject may be forged.
        else if (message.headers?.code === inHandStatus)
          onMessage(message, message.subject.slice(signs.length));
      },
      onMissed: () => (isRefused = false),
    });
  return {
    areHeard(): boolean {
      if (signsAddress === undefined) return false;
      hearing ??= listen(signsAddress);
      return !isRefused;
    },
    tryAgain(): void {
      if (!isRefused) return;
      hearing?.[Symbol.dispose]();
      [hearing, isRefused] = [undefined, false];
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
