// nats-server announces some seconds ahead that it will stop (lame duck mode). The client then moves to another server of the
// cluster at a moment at which no request is lost:
//
//   requests to this process     it unsubscribes and answers the requests it has; other replicas take new ones (serve.ts)
//   requests from this process   new requests wait for a moment, until the earlier ones are answered
//
// If requests are open all the time, the client moves nevertheless. A client of a single server stays.
import { setTimeout as wait } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Log } from '../log.ts';
import type { Inbox } from './inbox.ts';
import type { Connectivity } from './connectivity.ts';

export interface Leaver {
  /** Resolves when the client can move to another server without losing a request. */
  leave(): Promise<void>;
  /** Notes that the client is connected again, to the same server or another. */
  arrive(): void;
}

interface LameDuckOptions {
  nats: NatsConnection;
  inbox: Inbox;
  connectivity: Connectivity;
  hasOthers: () => boolean;
  log: Log;
}

/** A random delay, so that replicas do not leave a server together. By default, nats-server keeps connections for 10 s more. */
const spreadMs = 2_000;
const leaveWithinMs = 4_000;
/** For how long each try makes new requests wait. Callers do not notice 250 ms; even 2 s are better for them than a failure. */
const quietTriesMs = [250, 250, 250, 2_000];
const betweenTriesMs = 250;

export function openLameDuck({ nats, inbox, connectivity, hasOthers, log }: LameDuckOptions) {
  const leavers = new Set<Leaver>();
  let going: AbortController | undefined;

  const findQuietMoment = async (signal: AbortSignal): Promise<void> => {
    for (const withinMs of quietTriesMs) {
      if (signal.aborted) return;
      connectivity.hold(withinMs + betweenTriesMs);
      if (await inbox.untilQuiet(withinMs)) return;
      connectivity.release();
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
    begin(): void {
      if (going !== undefined || !hasOthers()) return;
      going = new AbortController();
      log.info('the nats server is about to stop (lame duck mode), moving to another server');
      go(going.signal).catch((error: unknown) => {
        log.warn({ err: error }, 'moving to another nats server failed');
      });
    },
    arrived(): void {
      going?.abort();
      going = undefined;
      for (const one of leavers) one.arrive();
    },
    use(leaver: Leaver): Disposable {
      leavers.add(leaver);
      return { [Symbol.dispose]: () => void leavers.delete(leaver) };
    },
    [Symbol.dispose]: () => going?.abort(),
  };
}
