// Whether a replica reads what it has to deliver. A consumer that hands out nothing looks like one that has
// nothing.
import { Failure } from '@integration-sync/contracts';
import type { Reading } from '@integration-sync/runtime/bus';

/** A stream may be without a leader, or a replica reconnect, for this long before readiness says so. */
const patienceMs = 10_000;

/** Throws where one of the streams has not been readable for longer. */
export const openReadingCheck =
  (readings: Readonly<Record<string, Pick<Reading, 'failingForMs'>>>) => (): void => {
    const unread = Object.entries(readings)
      .filter(([, { failingForMs }]) => failingForMs > patienceMs)
      .map(([stream]) => stream);
    if (unread.length === 0) return;
    throw new Failure('unavailable', `NATS hands out nothing of ${unread.join(', ')}; the log says why.`, {
      retryAfterSeconds: 2,
    });
  };
