// Checks expectations when they are due, in every replica (expectation-store.ts says which replica does a check), and announces
// `sync.overdue`.
//
//   an expectation, and what a check finds              what the check does
//   ──────────────────────────────────────────────────  ─────────────────────────────────────────────────────────────
//   overdue, not announced: its replica died            publishes the event, which the stream stores once if it was published
//                                                       in the last five minutes, and stores that it is announced
//   overdue, announced; a later push                    stores the push: the expectation is not overdue any more
//   overdue, announced; no push                         nothing; the next check is due after 30 s
//   the due time is in the future                       stores the last push; the next check is due then, or in six hours
//   the due time has passed; a push began by then       stores the push, which makes the due time later
//   the same, and the push is still running             nothing; checks again after 3 s, until 40 s after the due time
//   the due time was 10 s ago; no push began by then    stores that the expectation is overdue, publishes the event
//
// The event's id contains the due time, and the event's time is stored before the event is published, so a repeated event is the
// same. If several due times pass while no replica of catalog runs, only the first is announced.
import { eventSubject, overdueEventId, publishWithBatch, type EventBody } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { openPeriodicCheck, type PeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { derivedId, syncIdsFrom, type RecordServiceParts } from '@integration-sync/sync';
import { dueAtOf, graceMs, nextCheckAt, see, type Seen } from './due.ts';
import type { ReadPushes } from './read-pushes.ts';
import type { Expectation, ExpectationStore, Found } from './expectation-store.ts';

export interface ChecksOptions extends Pick<RecordServiceParts, 'log' | 'now' | 'onStage'> {
  bus: Pick<Bus, 'publishBatch' | 'connected'>;
  expectations: Pick<ExpectationStore, 'due' | 'hold' | 'note'>;
  read: ReadPushes;
}

const everyMs = 2_000;
/** How many checks a replica does concurrently. */
const atOnce = 32;
const overdueEveryMs = 30_000;
const runningEveryMs = 3_000;
/** How long after the due time a check waits for a push that began by the due time: a push takes 30 s at most. */
const runningMsMax = 40_000;

export function openChecks(options: ChecksOptions): AsyncDisposable {
  const { bus, expectations, now, log } = options;
  const limit = openSemaphore({ max: atOnce }).run;
  const checkAll = async (): Promise<void> => {
    // Without NATS there are no checks: nothing can be announced, and a push may be unfinished only because NATS is away.
    if (!bus.connected) return;
    const due = await expectations.due(new Date(now()), atOnce);
    const done = await Promise.allSettled(
      due.map((one) => limit(() => check(options, one), one.integration)),
    );
    const failed: unknown[] = done.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    if (failed.length > 0)
      log.warn({ err: failed[0], failed: failed.length }, 'a check for overdue pushes failed, trying again');
    else if (due.length === atOnce) checks.now();
  };
  const checks: PeriodicCheck = openPeriodicCheck(checkAll, { what: 'due expectations', everyMs, log });
  return checks;
}

async function check(options: ChecksOptions, due: Expectation): Promise<void> {
  const { expectations, onStage, now, log } = options;
  const held = await expectations.hold(due, new Date(now()));
  if (held === undefined) return;
  let read = held;
  if (held.overdue?.isAnnounced !== false) {
    const found = await look(options, held);
    if (!(await expectations.note(held, found)) || found.overdue?.isAnnounced !== false) return;
    read = { ...held, ...found };
    await onStage('after-overdue');
  }
  const { overdue } = read;
  if (overdue === undefined) return;
  await publish(options, read, overdue);
  await onStage('after-overdue-event');
  const { integration, entityType } = read;
  log.info({ integration, entityType, dueAt: overdue.dueAt }, 'a push is overdue');
  const checkAt = new Date(now() + overdueEveryMs);
  await expectations.note(read, { overdue: { ...overdue, isAnnounced: true }, checkAt });
}

async function look({ read, now }: ChecksOptions, held: Expectation): Promise<Found> {
  const at = new Date(now());
  const newest = see(held, await read(held, null), at);
  const { pushedAt, ahead } = newest;
  const { overdue } = held;
  if (overdue !== undefined && dueAtOf({ ...held, pushedAt }) <= overdue.dueAt) {
    return { overdue, readTo: at, checkAt: new Date(at.getTime() + overdueEveryMs) };
  }
  // A push whose stored time is in the future counts as in time, because no replica knows when the push was answered.
  const missing = overdue === undefined && !newest.isAhead ? await findMissing(read, held, at) : undefined;
  if (missing !== undefined) return missing;
  const checkAt = nextCheckAt({ ...held, pushedAt }, at);
  return { pushedAt, readTo: at, checkAt, ...(ahead === undefined ? {} : { ahead }) };
}

/** Finds the first due time without a push in time. Undefined if each due time that has passed had a push in time. */
async function findMissing(read: ReadPushes, held: Expectation, at: Date): Promise<Found | undefined> {
  let { pushedAt } = held;
  for (;;) {
    const last: Expectation = { ...held, pushedAt };
    const dueAt = dueAtOf(last);
    if (dueAt > at) return undefined;
    const inTime = see(last, await read(held, syncIdsFrom(new Date(dueAt.getTime() + 1))), at);
    if (!inTime.isNewer) return missed(last, inTime, at);
    ({ pushedAt } = inTime);
  }
}

/** What a check stores if no push that began by the due time has ended. Such a push may still be under way. */
function missed(last: Expectation, { isRunning }: Seen, at: Date): Found {
  const dueAt = dueAtOf(last);
  const { pushedAt } = last;
  const lateMs = at.getTime() - dueAt.getTime();
  const comeAgain = (ms: number): Found => ({ pushedAt, checkAt: new Date(at.getTime() + ms) });
  if (lateMs < graceMs) return comeAgain(graceMs - lateMs);
  if (isRunning && lateMs < runningMsMax) return comeAgain(runningEveryMs);
  return { pushedAt, overdue: { dueAt, foundAt: at, isAnnounced: false }, checkAt: last.checkAt };
}

async function publish(
  { bus }: ChecksOptions,
  { _id, integration, entityType, everyHours, pushedAt }: Expectation,
  { dueAt, foundAt }: NonNullable<Expectation['overdue']>,
): Promise<void> {
  const lastPushAt = pushedAt?.toISOString() ?? null;
  const event: EventBody<'sync.overdue'> = {
    event: 'sync.overdue',
    timestamp: foundAt.toISOString(),
    integrationId: integration,
    data: { entityType, everyHours, lastPushAt, dueAt: dueAt.toISOString() },
  };
  const id = overdueEventId(derivedId('exp', _id), dueAt);
  const message = { subject: eventSubject(integration, event.event), id, body: JSON.stringify(event) };
  await publishWithBatch(bus, { announcer: 'catalog', integration, events: [message] });
}
