// Storing parcels. A stream that does not answer in time may have them or not, so the very same are sent again, and the stream
// takes each one once. Bundles that were given back instead would be fanned out beside others, in parcels with other ids, and
// their events might go out twice.
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Message } from '../streams/messages.ts';

/** Fails where the stream takes them by none of several tries, or the process stops meanwhile. */
export type StoreParcels = (parcels: readonly Message[]) => Promise<void>;

export interface StoringOptions {
  bus: Pick<Bus, 'publishBatch'>;
  /** Fires when the process stops. */
  signal: AbortSignal;
  log: Log;
}

/** With what a try takes, long enough for another server to become the stream's leader. */
const triesMax = 6;
const pauseMs = 500;

export function openStoring({ bus, signal, log }: StoringOptions): StoreParcels {
  return async (parcels) => {
    for (let tries = 1; ; tries += 1) {
      try {
        await bus.publishBatch(parcels);
        return;
      } catch (error) {
        if (tries === triesMax || signal.aborted) throw error;
        log.warn(
          { err: error, parcels: parcels.length, tries },
          'deliveries could not be stored, trying again',
        );
      }
      await wait(pauseMs, undefined, { signal });
    }
  };
}
