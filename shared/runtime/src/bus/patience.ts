// Retries of a start that waits for NATS. The server may stop between any two requests, JetStream answers seconds after its server
// does, and a stream of several copies needs servers that may be restarting. A final refusal of the server ends the retries.
import { setTimeout as wait } from 'node:timers/promises';
import { JetStreamApiError } from '@nats-io/jetstream';
import { retry } from '../retry.ts';
import type { Connection } from './connection.ts';
import { needsAbsentServer, refused } from './nats-refusals.ts';

const retryMs = 500;
const waitingLineMs = 5_000;
/** A server of the cluster that restarts is back within this time. */
const absentMs = 30_000;

export type Asked = Pick<Connection, 'whileConnected' | 'connected' | 'log'> & {
  nats: Pick<Connection['nats'], 'isClosed'>;
  manager: Pick<Connection['manager'], 'getOptions'>;
};

/** Repeats `work`, which only asks NATS, until it succeeds. `what` says in log lines what the work is about. */
export function patiently<T>(connection: Asked, what: string, work: () => Promise<T>): Promise<T> {
  let saidAtMs = 0;
  return retry(() => connection.whileConnected(work), {
    mayRetry(error, { forMs }) {
      if (connection.nats.isClosed()) return false;
      if (error instanceof JetStreamApiError && !passes(error, forMs)) throw refused(what, error);
      if (forMs - saidAtMs >= waitingLineMs) {
        const missed = connection.connected ? 'jetstream' : 'nats';
        connection.log.warn(
          { err: error, what, api: connection.manager.getOptions().apiPrefix },
          `waiting for ${missed}`,
        );
        saidAtMs = forMs;
      }
      return true;
    },
    pause: () => wait(retryMs),
  });
}

/** Whether a refusal is temporary: a 503, or a server of the cluster that is away. Any other refusal is final. */
const passes = (error: JetStreamApiError, waitedMs: number): boolean =>
  error.status === 503 || (needsAbsentServer(error) && waitedMs < absentMs);
