// The attempt logs, beside what receivers saw: each attempt is in the log, tries of an event are 1, 5 and 30 s apart, and the
// tenth failure in a row disables an endpoint.
import { attemptDelaysMs, limits } from '@integration-sync/contracts';
import type { DeliveryLine } from '../lines.ts';
import { isTaken, type Check, type Entry, type Facts } from './facts.ts';
import { seconds, type IsStruck } from './times.ts';
import type { ViolationClass } from './violations.ts';

export const checkAttempts: Check = (facts, report) => {
  const { deliveries, endpoints, events, logs, isDeliveryStruck: isStruck } = facts;
  const hitsOf = Map.groupBy(deliveries, ({ endpoint }) => endpoint);
  for (const { endpoint, behaviour } of endpoints) {
    const [log, hits] = [logs.get(endpoint), hitsOf.get(endpoint) ?? []];
    const tell = (found: ViolationClass, what: string): void =>
      report(found, `${behaviour} ${endpoint}: ${what}`);
    if (log === undefined) {
      tell('attempt-log', 'there is no log');
      continue;
    }
    const of = { log, hits, isStruck, tell };
    checkKept(of);
    if (behaviour !== 'hostile') checkSaid(of);
    checkTries(of);
    if (alwaysFails.has(behaviour)) checkDisabling(of);
  }
  for (const { id, body } of events) {
    const { data } = body;
    if (!('consecutiveFailures' in data) || data.reason !== 'failures') continue;
    const failures = data.consecutiveFailures;
    if (failures !== limits.failuresBeforeDisabling)
      report('disabling', `${id}: disabled after ${failures} failures`);
  }
};

interface Of {
  log: NonNullable<ReturnType<Facts['logs']['get']>>;
  hits: readonly DeliveryLine[];
  isStruck: IsStruck;
  tell: (found: ViolationClass, what: string) => void;
}

/** A killed replica may lose the log entries of attempts that began up to this long before the kill. */
const lostBeforeMs = 30_000;
const lostAfterMs = 1_000;
/** How soon the log has the entry of an attempt: webhooks writes several entries at a time. */
const writtenWithinMs = 5_000;
/** The log is sorted by the ends of attempts, and an attempt takes 10 s at most. */
const attemptMsMax = 12_000;
/** How many entries an attempt log keeps at least. */
const keptMin = 1_000;

function checkKept({ log: { readMs, total, newest }, hits, isStruck, tell }: Of): void {
  // A long attempt log has lost its oldest entries.
  const isCut = newest.length !== total || total >= keptMin;
  const fromMs = isCut ? (newest.at(-1)?.endedMs ?? 0) + attemptMsMax : 0;
  const isKept = ({ atMs }: DeliveryLine): boolean =>
    atMs >= fromMs && atMs <= readMs - writtenWithinMs && !isStruck(atMs - lostAfterMs, atMs + lostBeforeMs);
  const entries = Map.groupBy(newest, ({ event }) => event);
  for (const [event, ofEvent] of Map.groupBy(hits, (hit) => hit.event)) {
    const logged = entries.get(event) ?? [];
    const succeeded = logged.filter(({ hasSucceeded }) => hasSucceeded).length;
    const taken = ofEvent.filter(isTaken).length;
    if (succeeded > taken)
      tell('attempt-log', `${event} succeeded ${succeeded} times, and its receiver took it ${taken} times`);
    const heard = ofEvent.filter(({ unheard }) => unheard !== true).length;
    if (logged.length >= heard || !ofEvent.every(isKept)) continue;
    const came = `came ${heard} times, last at ${seconds(ofEvent.at(-1)?.atMs ?? 0)}`;
    tell('attempt-log', `${logged.length} entries of ${event}, which ${came}`);
  }
}

/** How far two times of an attempt may differ: dates have whole milliseconds, and receivers get requests late. */
export const sameMs = 10;

/** Whether the attempt was cut off at its deadline: no answer had come. */
export const hasTimedOut = ({ status, begunMs, endedMs }: Entry): boolean =>
  status === null && endedMs - begunMs >= limits.deliveryDeadlineMs - sameMs;

/**
 * Checks that each delivery has a log entry with the status that its receiver sent, and no shorter duration. Deliveries of an
 * event within milliseconds of each other may swap their entries, but no entry counts for two deliveries.
 */
function checkSaid({ log, hits, isStruck, tell }: Of): void {
  const unused = Map.groupBy(log.newest, ({ event }) => event);
  const inOrder = hits.toSorted((one, other) => one.begunMs - other.begunMs);
  for (const { event, begunMs, atMs, status } of inOrder) {
    const ofEvent = unused.get(event) ?? [];
    const isOfHit = (entry: Entry): boolean =>
      (entry.status ?? 0) === status && entry.endedMs - entry.begunMs >= atMs - begunMs - sameMs;
    const near = ofEvent
      .filter((entry) => entry.begunMs <= begunMs + sameMs && begunMs - entry.begunMs <= attemptMsMax)
      .toSorted((one, other) => one.endedMs - one.begunMs - (other.endedMs - other.begunMs));
    // An attempt that ended without an answer may reach a busy receiver later than the next attempt.
    const isLate = (entry: Entry): boolean =>
      entry.endedMs < begunMs || (hasTimedOut(entry) && entry.endedMs - sameMs <= atMs);
    const late = ofEvent.find((entry) => entry.status === null && isLate(entry));
    const own = near.find(isOfHit) ?? late;
    if (own !== undefined) ofEvent.splice(ofEvent.indexOf(own), 1);
    // No entry near in time: the entry of this delivery was lost with its replica.
    const [said] = near;
    if (own !== undefined || said === undefined || status === 0) continue;
    if (isStruck(begunMs - lostAfterMs, atMs + writtenWithinMs)) continue;
    const entry = `its entry says ${said.status} after ${seconds(said.endedMs - said.begunMs)}`;
    tell('attempt-log', `${event} was answered ${status} after ${seconds(atMs - begunMs)}; ${entry}`);
  }
}

/** The attempt log has whole milliseconds; a difference up to this counts as none. */
const roundingMs = 100;
/** How much later than scheduled an attempt may be, because the machine may be busy. */
const lateMsMax = 5_000;

function checkTries({ log: { newest, failed }, isStruck, tell }: Of): void {
  const entries = [...newest.filter(({ hasSucceeded }) => hasSucceeded), ...failed];
  for (const [event, tries] of Map.groupBy(entries, (entry) => entry.event)) {
    for (const { attempt, begunMs, endedMs, nextMs } of tries) {
      const delayMs = attemptDelaysMs[attempt];
      const waitMs = nextMs - endedMs;
      const isPromised = delayMs !== undefined && nextMs !== Infinity;
      if (isPromised && !isStruck(begunMs, endedMs + lateMsMax) && !isAbout(waitMs, delayMs))
        tell('schedule', `after attempt ${attempt} of ${event} the next was to come in ${seconds(waitMs)}`);
      if (attempt > attemptDelaysMs.length) tell('schedule', `attempt ${attempt} of ${event}`);
      // A later attempt with the previous number does not count: it is of a replay, after a killed replica lost entries.
      const before = tries.filter((other) => other.attempt === attempt - 1 && other.begunMs < begunMs);
      const dueMs = Math.min(...before.map((other) => other.endedMs)) + (attemptDelaysMs[attempt - 1] ?? 0);
      const isHeld = before.some((other) => isStruck(other.begunMs, other.endedMs));
      if (before.length > 0 && !isHeld && begunMs < dueMs - roundingMs)
        tell('schedule', `attempt ${attempt} of ${event} came ${seconds(dueMs - begunMs)} too early`);
    }
  }
}

const isAbout = (waitMs: number, delayMs: number): boolean =>
  waitMs >= delayMs - roundingMs && waitMs <= delayMs + lateMsMax;

const alwaysFails = new Set(['dead', 'hostile']);
/** How long after a disabling an attempt may begin, because the disabling is stored some time after the failure. */
const disabledWithinMs = 2_000;

/**
 * Checks an endpoint that failed from its first delivery on. A failure counts unless another failure was stored while it was under way;
 * where a fault delayed the storing, nothing is checked.
 */
function checkDisabling({ log: { newest, failed }, isStruck, tell }: Of): void {
  const wellMs = Math.min(...newest.filter((one) => one.hasSucceeded).map(({ begunMs }) => begunMs));
  let [counted, lastMs] = [0, -Infinity];
  for (const { begunMs, endedMs } of failed.toSorted((one, other) => one.begunMs - other.begunMs)) {
    const isDisabled = counted >= limits.failuresBeforeDisabling;
    if (begunMs >= wellMs) return;
    if (isDisabled && begunMs > lastMs + disabledWithinMs) {
      const after = `${seconds(begunMs - lastMs)} after ${counted} failures in a row`;
      return tell('disabling', `was tried once more ${after}`);
    }
    if (isDisabled || begunMs < lastMs - roundingMs) continue;
    lastMs = endedMs;
    if (!isStruck(begunMs, endedMs + lateMsMax)) counted += 1;
  }
}
