// A cutoff divides the events that have occurred from later events. A cutoff uses no clock, and is exact although events are
// published after their push is answered:
//
//   an event occurred before the cutoff if                   because
//   ───────────────────────────────────────────────────────  ────────────────────────────────────────────────────────────
//   its sequence in EVENTS is at most `through`              the event was published before the end of EVENTS was read
//   the push or disabling that caused the event was not      a journal entry or `unannounced` names the push or
//   announced yet when the cutoff was taken                  disabling until EVENTS has the event
//
// A push that is answered before the cutoff is taken is before the cutoff, and a push that begins later is after the cutoff. A
// push that is under way while the cutoff is taken may be before or after. Unannounced pushes are read before the end of EVENTS,
// so a push that is announced between the two reads is not lost. If catalog or batches does not answer, its unannounced pushes
// count as after the cutoff, unless their events are in EVENTS. If it did not answer in time, `underWay` has `unknownPushes`:
// the event batches of such pushes may come later, and a replay waits for them (api/replay.ts).
import {
  disabledEventId,
  eventsStream,
  Failure,
  requestHeaders,
  subjects,
  UnannouncedRuns,
} from '@integration-sync/contracts';
import type { Bus, BusRequest } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { Check } from 'typebox/value';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import type { StreamReset } from '../endpoints/stream-reset.ts';

export interface Cutoff {
  /** The last sequence in EVENTS before the cutoff. */
  through: number;
  /** Origins of events after `through` that occurred before the cutoff. */
  underWay: string[];
}

/** In `underWay`, in place of the pushes of a service that did not answer in time. */
export const unknownPushes = 'unknown';

/** The cutoff of a change that does not affect which events are delivered. */
export const noCutoff: Cutoff = { through: 0, underWay: [] };

type Asking = Pick<BusRequest, 'integration' | 'requestId' | 'traceparent'>;

export type TakeCutoff = ReturnType<typeof openCutoff>;

/** The time-out of a request to catalog or batches. The caller who changes an endpoint waits for both. */
const timeoutMs = 2_000;
const sources = [subjects.catalogRunsUnannounced, subjects.batchesRunsUnannounced];

interface CutoffOptions {
  bus: Pick<Bus, 'request' | 'streamFacts'>;
  endpoints: Pick<Endpoints, 'unannouncedOf'>;
  streamReset: Pick<StreamReset, 'willStore'>;
  log: Log;
}

export const openCutoff =
  ({ bus, endpoints, streamReset, log }: CutoffOptions) =>
  async ({ integration, requestId, traceparent }: Asking): Promise<Cutoff> => {
    const headers = {
      [requestHeaders.integration]: integration,
      [requestHeaders.requestId]: requestId,
      [requestHeaders.traceparent]: traceparent,
    };
    const ask = async (subject: string): Promise<string[]> => {
      try {
        const { body } = await bus.request(subject, { headers, timeoutMs, repeatable: true });
        const answer: unknown = JSON.parse(Buffer.from(body).toString());
        if (!Check(UnannouncedRuns, answer))
          throw new Error('the answer is not a list of the pushes whose events are not yet published');
        return answer.syncIds;
      } catch (error) {
        log.warn(
          { err: error, subject, requestId },
          'a service does not say which pushes have unpublished events: they count as after the cutoff',
        );
        return error instanceof Failure && error.code === 'timeout' ? [unknownPushes] : [];
      }
    };
    const disabled = async (): Promise<string[]> =>
      (await endpoints.unannouncedOf(integration)).flatMap(({ _id, unannounced }) =>
        unannounced.map((one) => disabledEventId(_id, one)),
      );
    const underWay = (await Promise.all([...sources.map(ask), disabled()])).flat();
    const { lastSequence, lastAt } = await bus.streamFacts(eventsStream);
    await streamReset.willStore({ sequence: lastSequence, storedAt: lastAt });
    return { through: lastSequence, underWay };
  };
