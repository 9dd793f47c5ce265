// Does the recovery steps of disabled endpoints (endpoints/recovery.ts): tests and enables them, and sends their missed events.
// A step that is cut off is repeated by a replica that finds it due. Repeated events have the same ids, so the stream stores
// each event once.
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
import type { Endpoints } from '../endpoints/store.ts';
import type { Changed } from '../delivering/broadcasts.ts';
import type { Test } from './endpoints.ts';
import { type Candidates, meantFor, openResend } from './replay-candidates.ts';

interface RecoveriesOptions {
  endpoints: Pick<Endpoints, 'dueRecoveries' | 'holdRecovery' | 'setRecovery' | 'enable'>;
  bus: Pick<Bus, 'publishBatch' | 'streamFacts'>;
  candidatesIn: Candidates;
  test: Test;
  changed: Changed;
  log: Log;
}

const everyMs = 1_000;
/** How many steps a check does concurrently; each test may hang for 10 s. */
const atOnce = 32;
const kind = 'webhook.enabled';

export function openRecoveries(options: RecoveriesOptions): AsyncDisposable {
  const { endpoints, bus, candidatesIn, test, changed, log } = options;
  const resend = openResend(bus);
  const limit = openSemaphore({ max: atOnce }).run;
  const closing = new AbortController();

  const enable = async (held: Endpoint): Promise<void> => {
    const { lastSequence } = await bus.streamFacts(eventsStream);
    const enabled = await endpoints.enable(held, lastSequence);
    if (enabled === null) return;
    log.info({ endpoint: enabled._id, integration: enabled.integration }, 'a webhook is enabled again');
    await send(enabled);
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

  /** Sends the missed events up to `eventsAfter`, and publishes `webhook.enabled`. */
  const send = async (held: Endpoint): Promise<void> => {
    const { _id, integration, url, epoch, recovery } = held;
    await changed(held);
    const since = recovery?.since ?? new Date();
    // The endpoint was disabled again: the next recovery sends these events as well.
    if (!held.active) return;
    const missed = candidatesIn(held, { since, until: undefined });
    const resending = {
      endpoint: held,
      sending: `${_id}-recovery-${epoch}`,
      goOn: () => closing.signal.throwIfAborted(),
    };
    // Events after `eventsAfter` are delivered from the log, as to every endpoint.
    const queued = recovery?.replays ? await resend(meantFor(held, missed, held.eventsAfter), resending) : 0;
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
      log.warn({ err: error, endpoint: held._id }, 'a recovery step of a webhook failed, trying again');
    }
  };

  const check = async (): Promise<void> => {
    for (;;) {
      const due = await endpoints.dueRecoveries(atOnce);
      await Promise.all(due.map((one) => limit(() => recover(one), one.integration)));
      if (due.length < atOnce || closing.signal.aborted) return;
    }
  };
  const checks = openPeriodicCheck(check, { what: 'due recovery steps', everyMs, log });
  return {
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the process stops'));
      await checks[Symbol.asyncDispose]();
    },
  };
}

const eventOf = (integrationId: string, data: EventData<typeof kind>): EventBody<typeof kind> => ({
  event: kind,
  timestamp: new Date().toISOString(),
  integrationId,
  data,
});
