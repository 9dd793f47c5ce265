// nats-server says some seconds before it ends that it will (lame duck mode). The client then goes to another server of the
// cluster at a moment of its own choice, at which it loses nothing by going:
//
//   requests that it answers   it takes no more of them, and answers those in hand; other replicas take the rest (serve.ts)
//   requests that it sends     new ones wait for a moment; those under way are answered
//
// Where such a moment does not come soon, it goes all the same.
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

export interface LeavingOptions {
  nats: Pick<NatsConnection, 'flush' | 'reconnect'>;
  inbox: Pick<Inbox, 'untilQuiet'>;
  line: Pick<Line, 'hold' | 'release'>;
  log: Log;
}

/** Replicas of one service that share a server do not leave it together. nats-server waits for 10 s unless told otherwise. */
const spreadMs = 2_000;
const leaveWithinMs = 4_000;
/** Callers do not notice so short a wait. */
const quietWithinMs = 250;
const quietTries = 4;

export function openLeaving({ nats, inbox, line, log }: LeavingOptions): Leaving {
  const leavers = new Set<Leaver>();
  let going: AbortController | undefined;

  const findQuietMoment = async (signal: AbortSignal): Promise<void> => {
    for (let tries = 0; tries < quietTries && !signal.aborted; tries += 1) {
      line.hold(quietWithinMs * 2);
      if (await inbox.untilQuiet(quietWithinMs)) return;
      line.release();
      await wait(quietWithinMs);
    }
  };

  const go = async (signal: AbortSignal): Promise<void> => {
    await wait(Math.random() * spreadMs, undefined, { ref: false });
    if (signal.aborted) return;
    await Promise.race([Promise.all(Array.from(leavers, (one) => one.leave())), wait(leaveWithinMs)]);
    await findQuietMoment(signal);
    if (signal.aborted) return;
    await Promise.race([nats.flush(), wait(quietWithinMs)]);
    await nats.reconnect();
  };

  return {
    begin() {
      if (going !== undefined) return;
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
