// Brings disabled endpoints back: tests those that are to recover, enables them, and sends what they have missed. Each step
// may be cut off anywhere, and is done again by whichever replica finds it due (endpoints/recovery.ts). Events that are sent
// again by that are stored under the same ids, and so once.
import {
  type EventBody,
  type EventData,
  eventsStream,
  eventSubject,
  publishWithBatch,
} from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { nextTestAt } from '../endpoints/recovery.ts';
import type { Endpoints, Revisions } from '../endpoints/store.ts';
import type { Attempted } from '../sending/send.ts';
import { type Candidate, type Candidates, meantFor, openResend } from './replay-candidates.ts';

interface RecoveriesOptions {
  endpoints: Pick<Endpoints, 'dueRecoveries' | 'holdRecovery' | 'setRecovery' | 'enable' | 'find'>;
  revisions: Pick<Revisions, 'changed'>;
  bus: Pick<Bus, 'publishBatch' | 'streamFacts'>;
  candidatesIn: Candidates;
  /** Sends a test, which stands in the attempt log. */
  test: (endpoint: Endpoint) => Promise<Attempted>;
  tellChanged: (endpoint: Pick<Endpoint, '_id' | 'integration'>) => void;
  log: Log;
}

const everyMs = 1_000;
/** A check takes no more at once; each test may hang for 10 s. */
const atOnce = 32;
const kind = 'webhook.enabled';

export function openRecoveries(options: RecoveriesOptions): AsyncDisposable {
  const { endpoints, revisions, bus, candidatesIn, test, tellChanged, log } = options;
  const resend = openResend(bus);
  const limit = openSemaphore({ max: atOnce }).run;
  const closing = new AbortController();

  const enable = async (held: Endpoint): Promise<void> => {
    const { lastSequence } = await bus.streamFacts(eventsStream);
    const changed = await endpoints.enable(held, lastSequence);
    if (changed === null) return;
    log.info({ endpoint: changed._id, integration: changed.integration }, 'a webhook is enabled again');
    await send(changed);
  };

  const testOne = async (held: Endpoint): Promise<void> => {
    const { verdict } = await test(held);
    if (verdict === 'succeeded') return enable(held);
    const dueAt = verdict === 'gone' ? undefined : nextTestAt(held.disabledAt ?? new Date(0), new Date());
    await endpoints.setRecovery(
      held,
      dueAt === undefined ? undefined : { replays: true, ...held.recovery, step: 'test', dueAt },
    );
  };

  /** Sends the events that occurred before every replica knows that the endpoint is enabled. */
  const send = async (held: Endpoint): Promise<void> => {
    const { _id, integration, url, epoch, recovery } = held;
    await revisions.changed(integration);
    tellChanged(held);
    const since = recovery?.since ?? new Date();
    // The endpoint was disabled again: the next recovery sends these events as well.
    if (!held.active) return;
    const candidates = recovery?.replays === true ? candidatesIn(held, { since, until: undefined }) : [];
    const missed = meantFor(held, upTo(held.eventsAfter, candidates));
    const sending = `${_id}-recovery-${epoch}`;
    const queued = await resend(missed, {
      endpoint: held,
      sending,
      goOn: () => closing.signal.throwIfAborted(),
    });
    const id = `${_id}-enabled-${recovery?.epoch ?? epoch}`;
    const event = eventOf(integration, { webhookId: _id, url, disabledAt: since.toISOString(), queued });
    await publishWithBatch(bus, 'webhooks', integration, [
      { subject: eventSubject(integration, kind), id, body: JSON.stringify(event) },
    ]);
    await endpoints.setRecovery(held, undefined);
  };

  const steps = { test: testOne, enable, send };

  const recover = async (found: Endpoint): Promise<void> => {
    const held = await endpoints.holdRecovery(found);
    if (held?.recovery === undefined) return;
    try {
      await steps[held.recovery.step](held);
    } catch (error) {
      log.warn({ err: error, endpoint: held._id }, 'a webhook is not brought back yet, trying again');
    }
  };

  const check = async (): Promise<void> => {
    for (;;) {
      const due = await endpoints.dueRecoveries(atOnce);
      await Promise.all(due.map((one) => limit(() => recover(one), one.integration)));
      if (due.length < atOnce || closing.signal.aborted) return;
    }
  };
  const checks = openPeriodicCheck(check, { what: 'webhooks to bring back', everyMs, log });
  return {
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the process stops'));
      await checks[Symbol.asyncDispose]();
    },
  };
}

/** Events after that place in EVENTS are delivered as to every endpoint. */
async function* upTo(
  place: number,
  candidates: AsyncIterable<Candidate> | Iterable<Candidate>,
): AsyncGenerator<Candidate> {
  for await (const one of candidates) yield one !== undefined && one.sequence <= place ? one : undefined;
}

const eventOf = (integrationId: string, data: EventData<typeof kind>): EventBody<typeof kind> => ({
  event: kind,
  timestamp: new Date().toISOString(),
  integrationId,
  data,
});
