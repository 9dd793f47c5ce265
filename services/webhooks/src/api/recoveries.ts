// Does the recovery steps of disabled endpoints (endpoints/recovery.ts): tests and enables the endpoints, and sends
// their missed events. If a step fails or its replica dies, a replica that finds the step due repeats it. The repeated
// messages have the same ids, so the stream stores each event once.
import { enabledEventId, eventsStream } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { publishEvent } from '../endpoints/disabled-events.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { nextTestAt } from '../endpoints/recovery.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import type { StreamReset } from '../endpoints/stream-reset.ts';
import type { Changed } from '../delivering/endpoint-changes.ts';
import type { Test } from './test-delivery.ts';
import { type Candidates, meantFor, openResend } from './replay-candidates.ts';

interface RecoveriesOptions {
  endpoints: Pick<Endpoints, 'dueRecoveries' | 'holdRecovery' | 'setRecovery' | 'enable'>;
  bus: Pick<Bus, 'publishBatch' | 'streamFacts'>;
  streamReset: Pick<StreamReset, 'willStore'>;
  candidatesIn: Candidates;
  test: Test;
  changed: Changed;
  log: Log;
}

const everyMs = 1_000;
/** How many steps a replica does concurrently; each test may hang for 10 s. One integration has 21 at most. */
const atOnce = 32;
const stepLimits = { max: atOnce, share: { timesFree: 3, kept: 4 } };
/** How often a replica moves the due time of the step that it does, so that no other replica finds the step due (`heldMs`). */
const holdEveryMs = 5_000;

export function openRecoveries(options: RecoveriesOptions): AsyncDisposable {
  const { endpoints, bus, streamReset, candidatesIn, test, changed, log } = options;
  const resend = openResend(bus);
  const closing = new AbortController();

  const enable = async (held: Endpoint): Promise<void> => {
    const { lastSequence, lastAt } = await bus.streamFacts(eventsStream);
    await streamReset.willStore({ sequence: lastSequence, storedAt: lastAt });
    const enabled = await endpoints.enable(held, lastSequence);
    if (enabled === null) return;
    log.info({ endpoint: enabled._id, integration: enabled.integration }, 'a webhook is enabled again');
    await send(enabled);
  };

  const testOne = async (held: Endpoint): Promise<void> => {
    const { verdict } = await test(held);
    if (verdict === 'succeeded') return enable(held);
    const dueAt = verdict === 'gone' ? undefined : nextTestAt(held.disabledAt ?? new Date(0), new Date());
    await endpoints.setRecovery(held, dueAt && { replays: true, ...held.recovery, step: 'test', dueAt });
  };

  const send = async (begun: Endpoint): Promise<void> => {
    // An endpoint that an earlier release has disabled again may still have the step `send`: the step is removed.
    if (!begun.active) return endpoints.setRecovery(begun, undefined);
    await changed(begun);
    const through = await throughOf(options, begun);
    const { _id, integration, url, epoch, recovery } = begun;
    const since = recovery?.since ?? new Date();
    const missed = candidatesIn(begun, { since, until: undefined });
    await using ending = new AsyncDisposableStack();
    const hold = ending.use(openHold(options, begun));
    const goOn = (): void => {
      closing.signal.throwIfAborted();
      if (hold.held === undefined) throw new Error('another replica is recovering this webhook');
    };
    const resending = { endpoint: begun, sending: `${_id}-recovery-${epoch}`, goOn };
    // The step sends missed events up to `through`, a sequence of EVENTS. The owner delivers later events from the log.
    const queued =
      recovery?.queued ?? (recovery?.replays ? await resend(meantFor(begun, missed, through), resending) : 0);
    await ending.disposeAsync();
    const { held } = hold;
    if (held?.recovery === undefined) return;
    // A repeated step does not send the events again: once the log has forgotten their ids, it would store them again.
    const sent = { ...held, recovery: { ...held.recovery, through, queued } };
    await endpoints.setRecovery(held, sent.recovery);
    const id = enabledEventId(_id, { epoch: recovery?.epoch ?? epoch, at: since });
    const timestamp = new Date().toISOString();
    const data = { webhookId: _id, url, disabledAt: since.toISOString(), queued };
    await publishEvent(bus, id, { event: 'webhook.enabled', timestamp, integrationId: integration, data });
    await endpoints.setRecovery(sent, undefined);
  };

  const steps = { test: testOne, enable, send };

  const recover = async (found: Endpoint): Promise<void> => {
    try {
      const held = await endpoints.holdRecovery(found);
      if (held?.recovery === undefined) return;
      await steps[held.recovery.step](held);
      checks.now();
    } catch (error) {
      log.warn(
        { err: error, endpoint: found._id },
        'a step to recover a disabled webhook failed, trying again',
      );
    }
  };

  const due = openDueSteps(endpoints, recover);
  const check = (): Promise<void> => due.begin(closing.signal);
  const checks = openPeriodicCheck(check, { what: 'due recovery steps', everyMs, log });
  return {
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the process stops'));
      await checks[Symbol.asyncDispose]();
      await due.ended();
    },
  };
}

/** Begins due steps. Integrations that may begin no step now are left out, so that they do not hide the steps of others. */
function openDueSteps(
  endpoints: Pick<Endpoints, 'dueRecoveries'>,
  recover: (found: Endpoint) => Promise<void>,
) {
  const semaphore = openSemaphore(stepLimits);
  /** Recovery steps that this replica is doing, each with its integration. */
  const underWay = new Map<Promise<void>, string>();
  const beginOne = (found: Endpoint): void => {
    const { integration } = found;
    semaphore.take(integration);
    const step = recover(found).finally(() => {
      semaphore.release(integration);
      underWay.delete(step);
    });
    underWay.set(step, integration);
  };
  return {
    async begin(closing: AbortSignal): Promise<void> {
      while (semaphore.free > 0) {
        const full = [...new Set(underWay.values())].filter((one) => !semaphore.mayTake(one));
        const due = await endpoints.dueRecoveries(atOnce, full);
        if (closing.aborted) return;
        const before = underWay.size;
        for (const one of due) if (semaphore.mayTake(one.integration)) beginOne(one);
        if (due.length < atOnce || underWay.size === before) return;
      }
    },
    ended: () => Promise.all(underWay.keys()),
  };
}

/**
 * The last sequence of EVENTS that the step `send` sends: the end of EVENTS once the owner knows that the endpoint is enabled.
 * Until then the owner leaves out even events after `eventsAfter`, so the step sends these events. The sequence is stored, so
 * that a repeated step sends the same events.
 */
async function throughOf({ bus, endpoints }: RecoveriesOptions, held: Endpoint): Promise<number> {
  const { recovery } = held;
  if (recovery?.through !== undefined) return recovery.through;
  const { lastSequence } = await bus.streamFacts(eventsStream);
  if (recovery !== undefined) await endpoints.setRecovery(held, { ...recovery, through: lastSequence });
  return lastSequence;
}

/** Keeps the step reserved while this replica does the step. `held` is undefined once another replica has reserved the step. */
function openHold({ endpoints, log }: RecoveriesOptions, begun: Endpoint) {
  let held: Endpoint | undefined = begun;
  const extend = async (): Promise<void> => {
    if (held !== undefined) held = await endpoints.holdRecovery(held);
  };
  const checks = openPeriodicCheck(extend, { what: 'a recovery under way', everyMs: holdEveryMs, log });
  return {
    get held(): Endpoint | undefined {
      return held;
    },
    [Symbol.asyncDispose]: () => checks[Symbol.asyncDispose](),
  };
}
