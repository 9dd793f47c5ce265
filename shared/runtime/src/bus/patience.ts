// Waiting for NATS in the middle of a start: its server may go between any two questions, and JetStream answers some
// seconds after its server does, and a stream of several copies needs servers that may be restarting. What the server refuses
// for good is no matter of waiting.
import { setTimeout as wait } from 'node:timers/promises';
import { JetStreamApiError } from '@nats-io/jetstream';
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
export async function patiently<T>(connection: Asked, what: string, work: () => Promise<T>): Promise<T> {
  const beganAt = performance.now();
  let saidAt = beganAt;
  for (;;) {
    try {
      return await connection.whileConnected(work);
    } catch (error) {
      if (connection.nats.isClosed()) throw error;
      if (error instanceof JetStreamApiError && !passes(error, performance.now() - beganAt))
        throw refused(what, error);
      if (performance.now() - saidAt >= waitingLineMs) {
        const missed = connection.connected ? 'jetstream' : 'nats';
        connection.log.warn({ err: error, what, api: connection.stream.apiPrefix }, `waiting for ${missed}`);
        saidAt = performance.now();
      }
    }
    await wait(retryMs);
  }
}

/** 503 passes, and so does the absence of a server. What is refused with anything else is refused for good. */
const passes = (error: JetStreamApiError, waitedMs: number): boolean =>
  error.status === 503 || (needsAbsentServer(error) && waitedMs < absentMs);
