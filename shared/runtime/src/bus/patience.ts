// Waiting for NATS in the middle of a start: its server may go between any two questions, and JetStream answers some
// seconds after its server does. What the server refuses for good is no matter of waiting.
import { setTimeout as wait } from 'node:timers/promises';
import { JetStreamApiError } from '@nats-io/jetstream';
import type { Connection } from './connection.ts';
import { refused } from './refusals.ts';

const retryMs = 500;
const waitingLineMs = 5_000;

/** Does `work` until it is done; it asks NATS and nothing else. `what` it is about stands in the log lines. */
export async function patiently<T>(connection: Connection, what: string, work: () => Promise<T>): Promise<T> {
  let saidAt = performance.now();
  for (;;) {
    try {
      return await connection.whileConnected(work);
    } catch (error) {
      if (connection.nats.isClosed()) throw error;
      // 503 passes; what is refused with anything else is refused for good.
      if (error instanceof JetStreamApiError && error.status !== 503) throw refused(what, error);
      if (performance.now() - saidAt >= waitingLineMs) {
        const missed = connection.connected ? 'jetstream' : 'nats';
        connection.log.warn({ err: error, what, api: connection.stream.apiPrefix }, `waiting for ${missed}`);
        saidAt = performance.now();
      }
    }
    await wait(retryMs);
  }
}
