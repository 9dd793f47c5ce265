// Serves the subjects of a service. Its replicas share a queue group: NATS gives each request to one of them, which replies in any
// case (answer.ts). A semaphore for each subject bounds the work, and integrations take turns. A request that waits too long is
// refused as busy. For a request that takes long, the replica sends a sign of life every second.
import {
  answerNowSubject,
  givenUpSubject,
  healthSubject,
  pinnableSubjects,
  pinnedSubject,
} from '@integration-sync/contracts';
import type { Msg } from '@nats-io/nats-core';
import { ConfigError } from '../config/index.ts';
import type { RequestSeen } from '../metrics.ts';
import { noteShortWork } from '../pace.ts';
import { openSemaphore, type Semaphore, type SemaphoreOptions } from '../semaphore.ts';
import { answer, type BusHandler, type RequestInHand } from './answer.ts';
import { callerOf, isQuestion } from './caller.ts';
import type { Connection } from './connection.ts';
import { announceService, type Identity } from './micro-protocol.ts';
import { signEveryMs } from './inbox.ts';
import { subscribeLasting, type Lasting } from './lasting.ts';
import { patiently } from './patience.ts';
import { openWaits, tellInHand, type Waits } from './waits.ts';

export interface ServiceOptions extends Identity {
  /** How many requests of one subject this replica works on at a time; further requests wait, in turns over integrations. */
  inFlightMax: number;
  /** Semaphores that several subjects share. Requests of any other subject count as short work (pace.ts). */
  semaphores?: Readonly<Record<string, Semaphore>>;
  handlers: Readonly<Record<string, BusHandler>>;
}

export type ObserveRequest = (seen: RequestSeen) => void;

const mebibyte = 1024 * 1024;
/** The queue of large requests: a push of 500 items has some 100 KB, and 5 MiB at most. */
const largeQueue = {
  countMax: 2_000,
  bytesMax: 128 * mebibyte,
  shareMax: 1 / 4,
  patienceMs: 2_000,
  heldBackPatienceMs: 15_000,
};
/** Options of a semaphore for large requests. One spare permit lets the first request of an idle integration begin immediately. */
export const largeRequests = (max: number): SemaphoreOptions => ({ max, spare: 1, queue: largeQueue });
/** The queue of small requests: a request with 500 ids has 130 KB. */
const smallQueue = { ...largeQueue, bytesMax: 32 * mebibyte };

export async function serve(
  connection: Connection,
  options: ServiceOptions,
  observe: ObserveRequest,
): Promise<AsyncDisposable> {
  const inHand = new Map<Promise<void>, Taken>();
  const waits = openWaits(tellInHand(connection.nats));
  const subscribing: (() => Lasting)[] = [];
  const refused = new Set<string>();
  const discovery = announceService(connection, options, Object.keys(options.handlers));

  for (const [subject, handler] of Object.entries(options.handlers)) {
    const shared = options.semaphores?.[subject];
    const semaphore = shared ?? openSemaphore({ max: options.inFlightMax, queue: smallQueue });
    // Health checks come every few seconds, and are logged at level debug.
    const isHealth = subject === healthSubject(options.service);
    const answering = { served: subject, handler, semaphore, waits, quiet: isHealth };
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
      if (error === null) return mayAnswer(connection, message) ? take(message) : undefined;
      refused.add(subject);
      connection.log.error({ err: error, subject }, 'a NATS subscription failed');
    };
    const onMissed = (): void => connection.log.info({ subject }, 'a NATS subscription is allowed again');
    const how = { queue: options.service, callback, onMissed };
    for (const one of subscribedFor(subject))
      subscribing.push(() => subscribeLasting(connection.nats, one, how));
  }
  const hearing =
    subscribing.length > 0 ? hear(connection, options.service, waits, () => inHand.values()) : undefined;
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
  const signs = setInterval(() => tellLiving(inHand.values(), waits), signEveryMs);
  // After the flush nats-server has the subscriptions, so a ready service gets its requests.
  await patiently(connection, `subscriptions of ${options.service}`, () => connection.nats.flush());

  const serving = {
    async [Symbol.asyncDispose]() {
      leaving[Symbol.dispose]();
      discovery[Symbol.dispose]();
      using ending = new DisposableStack();
      ending.defer(() => clearInterval(signs));
      ending.defer(() => hearing?.[Symbol.dispose]());
      waits.endAll();
      if (connection.connected) await taking.stop();
      await allAnswered();
      // A reply counts as sent only when nats-server has it.
      if (connection.connected) await connection.nats.flush();
    },
  };
  return unlessRefused(serving, refused);
}

/** `isOld`: the replica already had the request when it last sent signs of life. A newer request gets none yet. */
type Taken = RequestInHand & { isOld: boolean };

function tellLiving(taken: Iterable<Taken>, waits: Waits): void {
  for (const one of taken) {
    if (one.isOld && !waits.has(one.message)) waits.tell(one.message);
    one.isOld = true;
  }
}

/** The subjects to subscribe to: `subject`, and for a listing also `subject` with any integration at its end. */
const subscribedFor = (subject: string): string[] =>
  pinnableSubjects.some((one) => one === subject) ? [subject, pinnedSubject(subject, '*')] : [subject];

/** Ends the start if nats-server refused a subscription: the login in NATS_URL is wrong, and requests would not arrive. */
async function unlessRefused(
  serving: AsyncDisposable,
  refused: ReadonlySet<string>,
): Promise<AsyncDisposable> {
  if (refused.size === 0) return serving;
  await serving[Symbol.asyncDispose]();
  throw new ConfigError([`NATS_URL: this login may not subscribe to ${[...refused].join(', ')}`]);
}

/** Drops a message whose reply subject is not an inbox. */
function mayAnswer({ log }: Connection, message: Msg): boolean {
  if (isQuestion(message)) return true;
  const { subject, reply } = message;
  log.warn(
    { subject, reply },
    'a request was dropped: its reply subject is no inbox, or JetStream delivered it',
  );
  return false;
}

function openTaking(subscribing: readonly (() => Lasting)[]) {
  let subscriptions: Lasting[] = [];
  /** Subscribes to the subjects of the service, unless it has done so. */
  const start = (): void => {
    if (subscriptions.length === 0) subscriptions = subscribing.map((subscribe) => subscribe());
  };
  start();
  return {
    start,
    /** Unsubscribes, and resolves once the messages that nats-server had sent are taken. */
    async stop(): Promise<void> {
      const stopping = subscriptions;
      subscriptions = [];
      await Promise.all(stopping.map((subscription) => subscription.drain()));
    },
  };
}

/** Listens to notices of callers. All replicas get them: a caller does not know which replica has its request. */
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
    for (const request of requests()) if (callerOf(request.message).reply === reply) request.isGivenUp = true;
    waits.end((message) => callerOf(message).reply === reply);
  });
  listen(answerNowSubject(service), (address) => {
    waits.end((message) => callerOf(message).reply.startsWith(address));
  });
  hearing.use(connection.onReconnect(() => waits.end(() => true)));
  return hearing.move();
}
