// The attempt logs, beside what receivers saw: each attempt is in the log, tries of an event are 1, 5 and 30 s apart, and the
// tenth failure in a row disables an endpoint.
import { attemptDelaysMs, limits, type DeliveryAttempt } from '@integration-sync/contracts';
import type { AttemptLogLine, DeliveryLine } from '../lines.ts';
import type { Check } from './facts.ts';
import { seconds, type IsStruck } from './times.ts';
import type { Report } from './violations.ts';

interface Entry {
  event: string;
  attempt: number;
  hasSucceeded: boolean;
  begunMs: number;
  endedMs: number;
  /** When the next attempt is due; Infinity if there is none. */
  nextMs: number;
  status: number | null;
}

export const checkAttempts: Check = (seen, report) => {
  const { toLedger, isDeliveryStruck: isStruck } = seen;
  const hits = Map.groupBy(seen.deliveries, ({ endpoint }) => endpoint);
  const logs = new Map(seen.attempts.map((log) => [log.endpoint, log]));
  const entryOf = (entry: DeliveryAttempt): Entry => {
    const { eventId, attempt, outcome, at, durationMs, responseStatus: status, nextAttemptAt } = entry;
    const begunMs = toLedger(at);
    const nextMs = nextAttemptAt === null ? Infinity : toLedger(nextAttemptAt);
    const hasSucceeded = outcome === 'succeeded';
    return { event: eventId, attempt, hasSucceeded, begunMs, endedMs: begunMs + durationMs, nextMs, status };
  };
  for (const { endpoint, behaviour } of seen.endpoints) {
    const log = logs.get(endpoint);
    if (log === undefined) {
      report('attempt-log', `${endpoint} has no log`);
      continue;
    }
    const newest = log.newest.map(entryOf);
    const failed = log.failed.map(entryOf);
    const of = { name: `${behaviour} ${endpoint}`, isStruck, report };
    const own = hits.get(endpoint) ?? [];
    checkKept(log, { newest, hits: own }, of);
    if (behaviour !== 'hostile') checkSaid(newest, own, of);
    checkTries([...newest.filter(({ hasSucceeded }) => hasSucceeded), ...failed], of);
    if (alwaysFails.has(behaviour)) checkDisabling(failed, newest, of);
  }
  for (const { id, body } of seen.events) {
    const { data } = body;
    if (!('consecutiveFailures' in data) || data.reason !== 'failures') continue;
    const failures = data.consecutiveFailures;
    if (failures === limits.failuresBeforeDisabling) continue;
    report('disabling', `${id}: disabled after ${failures} failures`);
  }
};

interface Of {
  name: string;
  isStruck: IsStruck;
  report: Report;
}

/** A replica that is killed takes the entries of its last moment with it, of attempts that began up to so long before. */
const lostBeforeMs = 30_000;
const lostAfterMs = 1_000;
/** Entries are written some at a time. */
const writtenWithinMs = 5_000;
/** The log is in the order of ends, and an attempt takes 10 s at most. */
const attemptMsMax = 12_000;

function checkKept(
  { readMs, total }: AttemptLogLine,
  { newest, hits }: { newest: readonly Entry[]; hits: readonly DeliveryLine[] },
  { name, isStruck, report }: Of,
): void {
  const isWhole = newest.length === total;
  // Of a long log the oldest entries are gone.
  const isCut = !isWhole || total >= keptMin;
  const fromMs = isCut ? Math.max(0, ...newest.slice(-1).map(({ endedMs }) => endedMs)) + attemptMsMax : 0;
  const entries = Map.groupBy(newest, ({ event }) => event);
  for (const [event, ofEvent] of Map.groupBy(hits, (hit) => hit.event)) {
    const logged = entries.get(event) ?? [];
    const succeeded = logged.filter(({ hasSucceeded }) => hasSucceeded).length;
    const taken = ofEvent.filter(({ status }) => status >= 200 && status < 300).length;
    if (succeeded > taken) {
      const what = `${name}: ${succeeded} attempts of ${event} succeeded by the log, and its receiver took it ${taken} times`;
      report('attempt-log', what);
    }
    const isJudged = ofEvent.every(
      ({ atMs }) =>
        atMs >= fromMs &&
        atMs <= readMs - writtenWithinMs &&
        !isStruck(atMs - lostAfterMs, atMs + lostBeforeMs),
    );
    const heard = ofEvent.filter(({ unheard }) => unheard !== true);
    if (!isJudged || logged.length >= heard.length) continue;
    const what = `${name}: ${logged.length} entries of ${event}, which came ${heard.length} times, last at ${seconds(ofEvent.at(-1)?.atMs ?? 0)}`;
    report('attempt-log', what);
  }
}

/** Dates have whole milliseconds, and an attempt begins at its sender. */
const sameMs = 10;

/**
 * Checks that an entry says of each delivery what its receiver saw: the status, and no shorter a duration. Of two deliveries
 * within milliseconds either entry may be the one of either, and each entry is that of one.
 */
function checkSaid(
  entries: readonly Entry[],
  hits: readonly DeliveryLine[],
  { name, isStruck, report }: Of,
): void {
  const unused = Map.groupBy(entries, ({ event }) => event);
  const inOrder = hits.toSorted((one, other) => one.begunMs - other.begunMs);
  for (const { event, begunMs, atMs, status } of inOrder) {
    const ofEvent = unused.get(event) ?? [];
    const isOfHit = (entry: Entry): boolean =>
      (entry.status ?? 0) === status && entry.endedMs - entry.begunMs >= atMs - begunMs - sameMs;
    const near = ofEvent
      .filter((entry) => entry.begunMs <= begunMs + sameMs && begunMs - entry.begunMs <= attemptMsMax)
      .toSorted((one, other) => one.endedMs - one.begunMs - (other.endedMs - other.begunMs));
    // An attempt that ended without an answer may reach a busy receiver later than the next attempt.
    const late = ofEvent.find((entry) => entry.status === null && entry.endedMs < begunMs);
    const own = near.find(isOfHit) ?? late;
    if (own !== undefined) ofEvent.splice(ofEvent.indexOf(own), 1);
    // Where the entry was lost with its replica, none is near.
    const [said] = near;
    if (own !== undefined || said === undefined || status === 0) continue;
    if (isStruck(begunMs - lostAfterMs, atMs + writtenWithinMs)) continue;
    const what = `${name}: ${event} was answered ${status} after ${seconds(atMs - begunMs)}; its entry says ${said.status} after ${seconds(said.endedMs - said.begunMs)}`;
    report('attempt-log', what);
  }
}

/** Entries that a log keeps at least. */
const keptMin = 1_000;

/** The attempt log has whole milliseconds; a difference up to this counts as none. */
const roundingMs = 100;
/** How much later than scheduled an attempt may be, because the machine may be busy. */
const lateMsMax = 5_000;

function checkTries(entries: readonly Entry[], { name, isStruck, report }: Of): void {
  for (const [event, tries] of Map.groupBy(entries, (entry) => entry.event)) {
    for (const { attempt, begunMs, endedMs, nextMs } of tries) {
      const delayMs = attemptDelaysMs[attempt];
      const waitMs = nextMs - endedMs;
      const isPromised = delayMs === undefined || nextMs === Infinity;
      if (!isPromised && !isStruck(begunMs, endedMs + lateMsMax) && !isAbout(waitMs, delayMs)) {
        const what = `${name}: after attempt ${attempt} of ${event} the next was to come in ${seconds(waitMs)}`;
        report('schedule', what);
      }
      if (attempt > attemptDelaysMs.length) report('schedule', `${name}: attempt ${attempt} of ${event}`);
      // A killed replica loses its newest log entries, so an entry of the attempt before that began later is of a replay.
      const before = tries.filter((other) => other.attempt === attempt - 1 && other.begunMs < begunMs);
      const dueMs = Math.min(...before.map((other) => other.endedMs)) + (attemptDelaysMs[attempt - 1] ?? 0);
      if (before.length === 0 || begunMs >= dueMs - roundingMs) continue;
      const what = `${name}: attempt ${attempt} of ${event} came ${seconds(dueMs - begunMs)} too early`;
      report('schedule', what);
    }
  }
}

const isAbout = (waitMs: number, delayMs: number): boolean =>
  waitMs >= delayMs - roundingMs && waitMs <= delayMs + lateMsMax;

const alwaysFails = new Set(['dead', 'hostile']);
/** An attempt may be under way when its endpoint is disabled. */
const disabledWithinMs = 2_000;

/**
 * Of an endpoint that failed from its first delivery on. A failure counts unless another one was stored while it was under
 * way; where a fault delayed what was stored, nobody knows.
 */
function checkDisabling(
  failed: readonly Entry[],
  newest: readonly Entry[],
  { name, isStruck, report }: Of,
): void {
  const wellMs = Math.min(...newest.filter((one) => one.hasSucceeded).map(({ begunMs }) => begunMs));
  let [counted, lastMs] = [0, -Infinity];
  for (const { begunMs, endedMs } of failed.toSorted((one, other) => one.begunMs - other.begunMs)) {
    if (begunMs >= wellMs) return;
    if (counted >= limits.failuresBeforeDisabling && begunMs > lastMs + disabledWithinMs) {
      const what = `${name} was tried once more ${seconds(begunMs - lastMs)} after ${counted} failures in a row`;
      report('disabling', what);
      return;
    }
    if (counted >= limits.failuresBeforeDisabling || begunMs < lastMs - roundingMs) continue;
    lastMs = endedMs;
    if (!isStruck(begunMs, endedMs + lateMsMax)) counted += 1;
  }
}
