// The cutoff between what has occurred by now and what occurs from now on, exact though events are published after their
// push is answered, and without asking any clock:
//
//   an event occurred before the cutoff if                     because
//   ─────────────────────────────────────────────────────────  ──────────────────────────────────────────────────────
//   it stands on the stream up to a place                      it was published before that place was asked for
//   its push is among those that were to be announced then,    their journal says so before the push is answered, and
//   or its endpoint among those that were disabled             until its events stand on the stream
//
// A push that is answered before the cutoff is taken is before it, one that begins afterwards is after it; those
// between may be either. The pushes are asked for before the place: what is no longer to be announced stands on the
// stream by then. Where a service that makes events cannot be asked, what it has still to announce is after it.
import { eventsStream, requestHeaders, subjects, UnannouncedRuns } from '@integration-sync/contracts';
import type { Bus, BusRequest } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { Check } from 'typebox/value';
import { disabledEventId } from '../endpoints/disabled-events.ts';
import type { Endpoints } from '../endpoints/store.ts';

export interface Cutoff {
  /** Place in the event stream. */
  through: number;
  /** Origins of events that come after that place, and occurred before. */
  underWay: string[];
}

/** For a change after which events go out as before. */
export const noCutoff: Cutoff = { through: 0, underWay: [] };

type Asking = Pick<BusRequest, 'integration' | 'requestId' | 'traceparent'>;

export type TakeCutoff = ReturnType<typeof openCutoff>;

/** The caller who changes an endpoint waits for so long. */
const timeoutMs = 2_000;
const sources = [subjects.catalogRunsUnannounced, subjects.batchesRunsUnannounced];

export const openCutoff =
  (bus: Pick<Bus, 'request' | 'streamFacts'>, endpoints: Pick<Endpoints, 'unannouncedOf'>, log: Log) =>
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
          throw new Error('the answer of another service is not of its form');
        return answer.syncIds;
      } catch (error) {
        log.warn({ err: error, subject, requestId }, 'what is still to be announced cannot be asked for');
        return [];
      }
    };
    const disabled = async (): Promise<string[]> =>
      (await endpoints.unannouncedOf(integration)).flatMap(({ _id, unannounced }) =>
        unannounced.map(({ epoch }) => disabledEventId(_id, epoch)),
      );
    const underWay = (await Promise.all([...sources.map(ask), disabled()])).flat();
    const { lastSequence } = await bus.streamFacts(eventsStream);
    return { through: lastSequence, underWay };
  };
