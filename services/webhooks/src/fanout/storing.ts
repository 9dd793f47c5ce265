// Storing parcels. A stream that does not answer in time may have them or not, so the very same are sent again, and the stream
// takes each one once. Bundles that were given back instead would be fanned out beside others, in parcels with other ids, and
// their events might go out twice.
import type { Bus } from '@integration-sync/runtime/bus';
import type { Message } from '../streams/messages.ts';
import type { Retry } from '../tools/retry.ts';

/** Fails where the stream takes them by no try, or the process stops meanwhile. */
export type StoreParcels = (parcels: readonly Message[]) => Promise<void>;

export interface StoringOptions {
  bus: Pick<Bus, 'publishBatch'>;
  /** Gives up when the process stops. */
  retry: Retry;
  /** Fires when the process stops. */
  signal: AbortSignal;
}

/** How long after the first try another one begins: longer than a cluster takes to elect a leader, which is 4 to 9 s. */
const triesForMs = 20_000;

export function openStoring({ bus, retry, signal }: StoringOptions): StoreParcels {
  /** Since the process stops, the stream has refused something: it would keep all that still waits from ending in time. */
  let isRefusing = false;

  return async (parcels) => {
    if (isRefusing) throw signal.reason;
    try {
      await retry('storing parcels', () => bus.publishBatch(parcels), triesForMs);
    } catch (error) {
      isRefusing = signal.aborted;
      throw error;
    }
  };
}
