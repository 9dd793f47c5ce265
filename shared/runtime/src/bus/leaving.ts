// nats-server says some seconds before it ends that it will (lame duck mode). The client then goes to another server of the
// cluster at a moment of its own choice, at which it loses nothing by going:
//
//   requests that it answers   it takes no more of them, and answers those it has; other replicas take the rest (serve.ts)
//   requests that it sends     new ones wait for a moment; those under way are answered
//
// Where such a moment does not come soon, it goes all the same. From a server that has no others it does not go.
import { setTimeout as wait } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Log } from '../log.ts';
import type { Inbox } from './inbox.ts';
import type { Line } from './line.ts';

export interface Leaver {
  /** Resolves when nothing is under way that the client would lose by going. */
  leave(): Promise<void>;
  /** The client is connected again, to whichever server. */
  arrive(): void;
}

export interface Leaving extends Disposable {
  /** The server is about to end. */
  begin(): void;
  arrived(): void;
  use(leaver: Leaver): Disposable;
}

interface LeavingOptions {
  nats: NatsConnection;
  inbox: Inbox;
  line: Line;
  /** Whether there is another server to go to. */
  hasOthers: () => boolean;
  log: Log;
}

/** Replicas of one service that share a server do not leave it together. nats-server waits for 10 s unless told otherwise. */
const spreadMs = 2_000;
const leaveWithinMs = 4_000;
/** For how long new requests wait: callers do not notice the short ones, and a refusal would be worse than the last one. */
const quietTriesMs = [250, 250, 250, 2_000];
const betweenTriesMs = 250;

export function openLeaving({ nats, inbox, line, hasOthers, log }: LeavingOptions): Leaving {
  const leavers = new Set<Leaver>();
  let going: AbortController | undefined;

  const findQuietMoment = async (signal: AbortSignal): Promise<void> => {
    for (const withinMs of quietTriesMs) {
      if (signal.aborted) return;
      line.hold(withinMs + betweenTriesMs);
      if (await inbox.untilQuiet(withinMs)) return;
      line.release();
      await wait(betweenTriesMs);
    }
  };

  const go = async (signal: AbortSignal): Promise<void> => {
    await wait(Math.random() * spreadMs, undefined, { ref: false });
    if (signal.aborted) return;
    await Promise.race([Promise.all(Array.from(leavers, (one) => one.leave())), wait(leaveWithinMs)]);
    await findQuietMoment(signal);
    if (signal.aborted) return;
    await Promise.race([nats.flush(), wait(betweenTriesMs)]);
    await nats.reconnect();
  };

  return {
    begin() {
      if (going !== undefined || !hasOthers()) return;
      going = new AbortController();
      log.info('the nats server is about to end, going to another one');
      go(going.signal).catch((error: unknown) => {
        log.warn({ err: error }, 'the nats server could not be left in good order');
      });
    },
    arrived() {
      going?.abort();
      going = undefined;
      for (const one of leavers) one.arrive();
    },
    use(leaver) {
      leavers.add(leaver);
      return { [Symbol.dispose]: () => void leavers.delete(leaver) };
    },
    [Symbol.dispose]: () => going?.abort(),
  };
}
