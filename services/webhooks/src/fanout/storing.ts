// Storing parcels. A stream that does not answer in time may have them or not, so the very same are sent again, and the stream
// takes each one once. Bundles that were given back instead would be fanned out beside others, in parcels with other ids, and
// their events might go out twice.
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Message } from '../streams/messages.ts';

/** Fails where the stream takes them by no try, or the process stops meanwhile. */
export type StoreParcels = (parcels: readonly Message[]) => Promise<void>;

export interface StoringOptions {
  bus: Pick<Bus, 'publishBatch'>;
  /** Fires when the process stops: nothing is tried again any more. */
  signal: AbortSignal;
  log: Log;
}

/** How long after the first try another one begins: longer than a cluster takes to elect a leader, which is 4 to 9 s. */
const triesForMs = 20_000;
const againMs = 500;
const linesEvery = 20;

export function openStoring({ bus, signal, log }: StoringOptions): StoreParcels {
  /** Since the process stops, the stream has refused something: it would keep all that still waits from ending in time. */
  let isRefusing = false;

  return async (parcels) => {
    if (isRefusing) throw signal.reason;
    const endMs = performance.now() + triesForMs;
    for (let tries = 1; ; tries += 1) {
      try {
        await bus.publishBatch(parcels);
        return;
      } catch (error) {
        isRefusing = signal.aborted;
        if (signal.aborted || performance.now() + againMs > endMs) throw error;
        if (tries % linesEvery === 1)
          log.warn(
            { err: error, parcels: parcels.length, tries },
            'parcels are not stored yet, trying again',
          );
      }
      await wait(againMs, undefined, { signal });
    }
  };
}
