// The subjects of a service: every replica joins its queue group, works on a bounded number of a kind at a time in turns
// over integrations, says "busy" to what waits too long for its turn, and answers every request (answer.ts). Of what
// takes long it says every second that it is still at work on it.
import { answerNowSubject, givenUpSubject } from '@integration-sync/contracts';
import type { Msg, Subscription } from '@nats-io/nats-core';
import type { RequestSeen } from '../metrics.ts';
import { noteShortWork } from '../pace.ts';
import { openSemaphore, type Semaphore, type SemaphoreOptions } from '../semaphore.ts';
import { answer, type BusHandler, type RequestInHand } from './answer.ts';
import type { Connection } from './connection.ts';
import { announceService, type Identity } from './discovery.ts';
import { signEveryMs } from './inbox.ts';
import { patiently } from './patience.ts';
import { openWaits, tellInHand, type Waits } from './waits.ts';

export interface ServiceOptions extends Identity {
  /**
   * How many requests of one subject this replica works on at once: many of one kind keep no other from its turn. The
   * others wait in turns over integrations.
   */
  inFlightMax: number;
  /** For subjects that share a semaphore with one another. What passes none of these is short work. */
  semaphores?: Readonly<Record<string, Semaphore>>;
  handlers: Readonly<Record<string, BusHandler>>;
  /** Subjects that are asked often and say little; their log lines are at level debug. */
  quiet?: readonly string[];
}

export type ObserveRequest = (seen: RequestSeen) => void;

const mebibyte = 1024 * 1024;
/** For what is large: a push of 500 items is some 100 KB, and 5 MiB at most. */
const largeQueue = {
  countMax: 2_000,
  bytesMax: 128 * mebibyte,
  shareMax: 1 / 4,
  patienceMs: 2_000,
  heldBackPatienceMs: 15_000,
};
/** For large requests, with one to spare for an integration that has nothing in hand yet: its first one begins at once. */
export const largeRequests = (max: number): SemaphoreOptions => ({ max, spare: 1, queue: largeQueue });
/** For one kind of questions, which are short: with 500 ids one has 130 KB. */
const smallQueue = { ...largeQueue, bytesMax: 32 * mebibyte };

export async function serve(
  connection: Connection,
  options: ServiceOptions,
  observe: ObserveRequest,
): Promise<AsyncDisposable> {
  const inHand = new Map<Promise<void>, RequestInHand & { isOld: boolean }>();
  const waits = openWaits();
  const subscribing: (() => Subscription)[] = [];
  const discovery = announceService(connection, options, Object.keys(options.handlers));

  for (const [subject, handler] of Object.entries(options.handlers)) {
    const shared = options.semaphores?.[subject];
    const semaphore = shared ?? openSemaphore({ max: options.inFlightMax, queue: smallQueue });
    const answering = { handler, semaphore, waits, quiet: options.quiet?.includes(subject) === true };
    const take = (message: Msg): void => {
      if (shared === undefined) noteShortWork();
      const request = { message, isGivenUp: false, isOld: false };
      const work = answer(connection, request, answering).then((seen) => {
        inHand.delete(work);
        discovery.count(seen);
        observe(seen);
      });
      inHand.set(work, request);
    };
    const callback = (error: Error | null, message: Msg): void => {
      if (error === null) take(message);
      else connection.log.error({ err: error, subject }, 'subscription failed');
    };
    subscribing.push(() => connection.nats.subscribe(subject, { queue: options.service, callback }));
  }
  const answersAny = subscribing.length > 0;
  const hearing = answersAny ? hear(connection, options.service, waits, () => inHand.values()) : undefined;
  const taking = openTaking(subscribing);
  const allAnswered = async (): Promise<void> => {
    while (inHand.size > 0) await Promise.all(inHand.keys());
  };
  const leaving = connection.onLeaving({
    async leave() {
      waits.endAll();
      await taking.stop();
      await allAnswered();
    },
    arrive() {
      waits.resume();
      taking.start();
    },
  });
  const signs = setInterval(() => {
    for (const one of inHand.values()) {
      if (one.isOld && !waits.has(one.message)) tellInHand(one.message);
      one.isOld = true;
    }
  }, signEveryMs);
  // The server has seen the subscriptions once this returns, so a caller that sees "ready" gets an answer. Where the line
  // drops meanwhile, the client subscribes again by itself when it is back.
  await patiently(connection, `subscriptions of ${options.service}`, () => connection.nats.flush());

  return {
    async [Symbol.asyncDispose]() {
      leaving[Symbol.dispose]();
      discovery[Symbol.dispose]();
      using ending = new DisposableStack();
      ending.defer(() => clearInterval(signs));
      ending.defer(() => hearing?.[Symbol.dispose]());
      waits.endAll();
      if (connection.connected) await taking.stop();
      await allAnswered();
      // A reply counts as sent only when the server has it.
      if (connection.connected) await connection.nats.flush();
    },
  };
}

interface Taking {
  /** Unless it has started. */
  start(): void;
  /** Takes what nats-server has already sent, and nothing more. */
  stop(): Promise<void>;
}

function openTaking(subscribing: readonly (() => Subscription)[]): Taking {
  let subscriptions: Subscription[] = [];
  const start = (): void => {
    if (subscriptions.length === 0) subscriptions = subscribing.map((subscribe) => subscribe());
  };
  start();
  return {
    start,
    async stop() {
      const stopping = subscriptions;
      subscriptions = [];
      await Promise.all(stopping.map((subscription) => subscription.drain()));
    },
  };
}

/** All replicas hear what callers say of their requests, as a caller does not know which of them has one. */
function hear(
  connection: Connection,
  service: string,
  waits: Waits,
  requests: () => Iterable<RequestInHand>,
): Disposable {
  using hearing = new DisposableStack();
  const listen = (subject: string, onWord: (word: string) => void): void => {
    hearing.use(connection.listen(subject, (message) => onWord(message.string())));
  };
  listen(givenUpSubject(service), (reply) => {
    for (const request of requests()) if (request.message.reply === reply) request.isGivenUp = true;
    waits.end((message) => message.reply === reply);
  });
  listen(answerNowSubject(service), (address) => {
    waits.end(({ reply = '' }) => reply.startsWith(address));
  });
  hearing.use(connection.onReconnect(() => waits.end(() => true)));
  return hearing.move();
}
