// Waiting for NATS in the middle of a start: its server may go between any two questions, and JetStream answers some
// seconds after its server does, and a stream of several copies needs servers that may be restarting. What the server refuses
// for good is no matter of waiting.
import { setTimeout as wait } from 'node:timers/promises';
import { JetStreamApiError } from '@nats-io/jetstream';
import { retry } from '../retry.ts';
import type { Connection } from './connection.ts';
import { needsAbsentServer, refused } from './refusals.ts';

const retryMs = 500;
const waitingLineMs = 5_000;
/** A server of the cluster that restarts is back by then. */
const absentMs = 30_000;

export type Asked = Pick<Connection, 'whileConnected' | 'connected' | 'log'> & {
  nats: Pick<Connection['nats'], 'isClosed'>;
  stream: Pick<Connection['stream'], 'apiPrefix'>;
};

/** Does `work` until it is done; it asks NATS and nothing else. `what` it is about stands in the log lines. */
export function patiently<T>(connection: Asked, what: string, work: () => Promise<T>): Promise<T> {
  let saidAtMs = 0;
  return retry(() => connection.whileConnected(work), {
    mayRetry(error, { forMs }) {
      if (connection.nats.isClosed()) return false;
      if (error instanceof JetStreamApiError && !passes(error, forMs)) throw refused(what, error);
      if (forMs - saidAtMs >= waitingLineMs) {
        const missed = connection.connected ? 'jetstream' : 'nats';
        connection.log.warn({ err: error, what, api: connection.stream.apiPrefix }, `waiting for ${missed}`);
        saidAtMs = forMs;
      }
      return true;
    },
    pause: () => wait(retryMs),
  });
}

/** 503 passes, and so does the absence of a server. What is refused with anything else is refused for good. */
const passes = (error: JetStreamApiError, waitedMs: number): boolean =>
  error.status === 503 || (needsAbsentServer(error) && waitedMs < absentMs);
