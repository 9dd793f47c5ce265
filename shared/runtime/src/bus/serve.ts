// The subjects of a service: every replica joins its queue group, works on a bounded number of a kind at a time in turns
// over integrations, says "busy" to what waits too long for its turn, and answers every request (answer.ts). Of what
// takes long it says every second that it still has it in hand.
import { requestHeaders, type ErrorCode } from '@integration-sync/contracts';
import type { Msg, Subscription } from '@nats-io/nats-core';
import { openGate, type Gate, type WaitingRoom } from '../gate.ts';
import { answer, type BusHandler } from './answer.ts';
import type { Connection } from './connection.ts';
import { announceService, type EndpointTally } from './discovery.ts';
import { signEveryMs, signOfLife } from './inbox.ts';
import { patiently } from './patience.ts';

export interface ServiceOptions {
  service: string;
  version: string;
  description: string;
  /**
   * How many requests of one subject this replica works on at once: many of one kind keep no other from its turn. The
   * others wait in turns over integrations.
   */
  inFlightMax: number;
  /** For subjects that share the places of a gate with one another. */
  gates?: Readonly<Record<string, Gate>>;
  handlers: Readonly<Record<string, BusHandler>>;
  /** Subjects that are asked often and say little; their log lines are at level debug. */
  quiet?: readonly string[];
}

export type ObserveRequest = (seen: { subject: string; outcome: 'ok' | ErrorCode; seconds: number }) => void;

const mebibyte = 1024 * 1024;
/** For what is large: a push of 500 items is some 100 KB, and 5 MiB at most. */
export const largeRoom: WaitingRoom = {
  countMax: 2_000,
  bytesMax: 128 * mebibyte,
  shareMax: 1 / 4,
  patienceMs: 2_000,
};
/** For one kind of questions, which are short: with 500 ids one has 130 KB. */
const smallRoom: WaitingRoom = { ...largeRoom, bytesMax: 32 * mebibyte };

export async function serve(
  connection: Connection,
  options: ServiceOptions,
  observe: ObserveRequest,
): Promise<AsyncDisposable> {
  const inHand = new Map<Promise<void>, { message: Msg; isOld: boolean }>();
  const tallies: EndpointTally[] = [];
  const subscribing: (() => Subscription)[] = [];

  for (const [subject, handler] of Object.entries(options.handlers)) {
    const tally: EndpointTally = {
      subject,
      queue: options.service,
      requests: 0,
      errors: 0,
      lastError: '',
      nanos: 0,
    };
    tallies.push(tally);
    const gate = options.gates?.[subject] ?? openGate(options.inFlightMax, smallRoom);
    const quiet = options.quiet?.includes(subject) === true;
    const take = (message: Msg): void => {
      const work = answer(connection, message, { handler, gate, quiet }).then(({ code, seconds }) => {
        inHand.delete(work);
        tally.requests += 1;
        tally.nanos += Math.round(seconds * 1e9);
        if (code !== 'ok') {
          tally.errors += 1;
          tally.lastError = code;
        }
        observe({ subject, outcome: code, seconds });
      });
      inHand.set(work, { message, isOld: false });
    };
    const callback = (error: Error | null, message: Msg): void => {
      if (error === null) take(message);
      else connection.log.error({ err: error, subject }, 'subscription failed');
    };
    subscribing.push(() => connection.nats.subscribe(subject, { queue: options.service, callback }));
  }
  let subscriptions = subscribing.map((subscribe) => subscribe());
  const takeNoMore = async (): Promise<void> => {
    const leaving = subscriptions;
    subscriptions = [];
    await Promise.all(leaving.map((subscription) => subscription.drain()));
  };
  const allAnswered = async (): Promise<void> => {
    while (inHand.size > 0) await Promise.all(inHand.keys());
  };
  const leaving = connection.onLeaving({
    async leave() {
      await takeNoMore();
      await allAnswered();
    },
    arrive() {
      if (subscriptions.length === 0) subscriptions = subscribing.map((subscribe) => subscribe());
    },
  });
  const signs = setInterval(() => {
    for (const one of inHand.values()) {
      if (one.isOld) showInHand(one.message);
      one.isOld = true;
    }
  }, signEveryMs);
  const discovery = announceService(connection, options, tallies);
  // The server has seen the subscriptions once this returns, so whoever is told "ready" can be asked. Where the line
  // drops meanwhile, the client subscribes again by itself when it is back.
  await patiently(connection, `subscriptions of ${options.service}`, () => connection.nats.flush());

  return {
    async [Symbol.asyncDispose]() {
      leaving[Symbol.dispose]();
      discovery[Symbol.dispose]();
      using _signs = { [Symbol.dispose]: () => clearInterval(signs) };
      if (connection.connected) await takeNoMore();
      await allAnswered();
      // A reply counts as sent only when the server has it.
      if (connection.connected) await connection.nats.flush();
    },
  };
}

/** Only to one of ours, who waits for more than the first message: it says for how long. */
function showInHand(message: Msg): void {
  if (message.headers?.has(requestHeaders.timeoutMs) === true) {
    message.respond(undefined, { headers: signOfLife });
  }
}
