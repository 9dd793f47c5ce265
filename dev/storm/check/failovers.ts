// How soon a cluster goes on after a fault: pushes succeed again, events come to the stream, deliveries to receivers.
import { isOfOneNode } from '../cluster/fault.ts';
import type { DeliveryLine, EndpointLine, EventLine, FaultLine, LeaderLine } from '../lines.ts';
import type { FailoverBounds } from '../profile.ts';
import { isMeantFor } from './deliveries.ts';
import type { Push } from './push.ts';
import { seconds } from './story.ts';
import { openDates } from './times.ts';
import type { Report } from './violations.ts';

/** A node that stands still is taken for dead by its clients and by the other nodes after this. */
const noticedMs = 3_000;

interface Seen {
  within: FailoverBounds;
  faults: readonly FaultLine[];
  leaders: readonly LeaderLine[];
  events: readonly EventLine[];
  endpoints: readonly EndpointLine[];
  deliveries: readonly DeliveryLine[];
}

/** A time in which something could not go on, by the clock of the ledger. */
interface Hindrance {
  fromMs: number;
  toMs: number;
}

/** Something that was to be done from one moment on, and was done at another. */
interface Done {
  what: string;
  sinceMs: number;
  doneMs: number;
}

type Figure = readonly [what: string, figures: string];

/** Checks the bounds, and returns a line for each fault; none for a storm without a cluster. */
export function checkFailovers(pushes: readonly Push[], seen: Seen, report: Report): Figure[] {
  const { leaders, within } = seen;
  const faults = seen.faults.filter(({ kind, wholeMs }) => kind === 'roll' || wholeMs !== undefined);
  if (faults.length === 0) return [];
  checkRolls(pushes, faults, report);
  checkAway(pushes, faults, { leaders, mostMs: within.pushesMs, report });
  const several = faults
    .filter(({ kind, target }) => kind !== 'roll' && !isOfOneNode(target))
    .map(({ atMs, wholeMs = Infinity }) => ({ fromMs: atMs, toMs: wholeMs }));
  const withoutLeader = (of: readonly LeaderLine[]): Hindrance[] =>
    of.map(({ lostMs, foundMs }) => ({ fromMs: lostMs, toMs: foundMs })).concat(several);
  const toLedger = openDates(pushes);
  const stored = storedOf(seen.events, toLedger);
  const ofEvents = withoutLeader(leaders.filter(({ asset }) => asset === 'EVENTS'));
  checkLate(stored, ofEvents, { class: 'event-late', mostMs: within.eventsMs, report });
  const delivered = deliveredOf(seen, toLedger);
  const ofAll = withoutLeader(leaders);
  checkLate(delivered, ofAll, { class: 'delivery-late', mostMs: within.deliveriesMs, report });
  return faults.map((fault, nth) => {
    const nextMs = faults[nth + 1]?.atMs ?? Infinity;
    const during = <T>(all: readonly T[], at: (one: T) => number): T[] =>
      all.filter((one) => at(one) >= fault.atMs && at(one) < nextMs);
    return describeFault(fault, {
      failed: during(pushes.filter(isFailed), ({ endedMs }) => endedMs),
      leaders: during(leaders, ({ lostMs }) => lostMs),
      eventsMs: latest(
        during(stored, ({ sinceMs }) => sinceMs),
        [],
      ),
      eventsAfterMs: latest(
        during(stored, ({ sinceMs }) => sinceMs),
        ofEvents,
      ),
      deliveriesMs: latest(
        during(delivered, ({ sinceMs }) => sinceMs),
        [],
      ),
    });
  });
}

/** Whether a push failed; one whose caller hung up has no known answer, so it does not count. */
const isFailed = ({ outcome, endedMs }: Push): boolean =>
  outcome !== 200 && outcome !== 'hung-up' && Number.isFinite(endedMs);

function checkRolls(pushes: readonly Push[], faults: readonly FaultLine[], report: Report): void {
  for (const { target, atMs, untilMs } of faults.filter(({ kind }) => kind === 'roll')) {
    for (const { id, outcome, begunMs, endedMs, problem } of pushes.filter(isFailed)) {
      if (endedMs < atMs || begunMs > untilMs) continue;
      const what = `push ${id}, ${seconds(begunMs - atMs)} into a roll of ${target}, ended with ${outcome}: ${problem ?? ''}`;
      report({ class: 'roll', what });
    }
  }
}

interface AwayOptions extends Omit<LateOptions, 'class'> {
  leaders: readonly LeaderLine[];
}

/**
 * Reports pushes that fail for too long after one node was struck; the last fault before its end explains a failure.
 */
function checkAway(
  pushes: readonly Push[],
  faults: readonly FaultLine[],
  { leaders, mostMs, report }: AwayOptions,
): void {
  for (const { id, outcome, endedMs, problem } of pushes.filter(isFailed)) {
    const fault = faults.findLast(({ atMs }) => atMs <= endedMs);
    if (fault === undefined || fault.kind === 'roll' || !isOfOneNode(fault.target)) continue;
    const { target, kind, atMs } = fault;
    // A node that is back may have the others elect once more.
    const lost = leaders.map(({ lostMs }) => lostMs).filter((lostMs) => lostMs > atMs && lostMs <= endedMs);
    const fromMs = Math.max(atMs + (kind === 'stop' ? noticedMs : 0), ...lost);
    if (endedMs <= fromMs + mostMs) continue;
    const what = `push ${id} ended with ${outcome} ${seconds(endedMs - atMs)} after ${kind} ${target}: ${problem ?? ''}`;
    report({ class: 'away', what });
  }
}

const storedOf = (events: readonly EventLine[], toLedger: (date: string) => number): Done[] =>
  events.map(({ id, body, storedAt }) => ({
    what: id,
    sinceMs: toLedger(body.timestamp),
    doneMs: toLedger(storedAt),
  }));

/** For each event and healthy receiver, the first successful delivery. */
function deliveredOf({ events, endpoints, deliveries }: Seen, toLedger: (date: string) => number): Done[] {
  const first = new Map<string, number>();
  for (const { endpoint, event, status, atMs } of deliveries) {
    const key = `${endpoint} ${event}`;
    if (status >= 200 && status < 300) first.set(key, Math.min(atMs, first.get(key) ?? Infinity));
  }
  return endpoints
    .filter(({ behaviour }) => behaviour === 'steady')
    .flatMap((endpoint) =>
      events
        .filter((event) => isMeantFor(event, endpoint))
        .flatMap(({ id, body }): Done[] => {
          const doneMs = first.get(`${endpoint.endpoint} ${id}`);
          if (doneMs === undefined) return [];
          return [{ what: `${id} to ${endpoint.endpoint}`, sinceMs: toLedger(body.timestamp), doneMs }];
        }),
    );
}

interface LateOptions {
  class: 'event-late' | 'delivery-late';
  mostMs: number;
  report: Report;
}

function checkLate(
  all: readonly Done[],
  hindrances: readonly Hindrance[],
  { class: of, mostMs, report }: LateOptions,
): void {
  for (const one of all) {
    const lateMs = latenessOf(one, hindrances);
    if (lateMs <= mostMs) continue;
    const what = `${one.what} came ${seconds(one.doneMs - one.sinceMs)} after its push, ${seconds(lateMs)} after it could, at ${seconds(one.doneMs)}`;
    report({ class: of, what });
  }
}

/** How late something was done, counted from the moment at which no hindrance was left. */
function latenessOf({ sinceMs, doneMs }: Done, hindrances: readonly Hindrance[]): number {
  const ends = hindrances
    .filter(({ fromMs, toMs }) => fromMs <= doneMs && toMs >= sinceMs)
    .map(({ toMs }) => Math.min(toMs, doneMs));
  return doneMs - Math.max(sinceMs, ...ends);
}

const latest = (all: readonly Done[], hindrances: readonly Hindrance[]): number =>
  all.reduce((most, one) => Math.max(most, latenessOf(one, hindrances)), 0);

interface Aftermath {
  failed: readonly Push[];
  leaders: readonly LeaderLine[];
  eventsMs: number;
  eventsAfterMs: number;
  deliveriesMs: number;
}

function describeFault(
  { kind, target, atMs, untilMs }: FaultLine,
  { failed, leaders, eventsMs, eventsAfterMs, deliveriesMs }: Aftermath,
): Figure {
  const lastMs = Math.max(0, ...failed.map(({ endedMs }) => endedMs - atMs));
  const led = leaders.map(({ asset, lostMs, foundMs }) => `${asset} ${seconds(foundMs - lostMs)}`);
  const parts = [
    kind === 'roll' ? `${seconds(untilMs - atMs)} long` : `new leaders: ${led.join(', ') || 'none needed'}`,
    failed.length === 0
      ? 'no push failed'
      : `${failed.length} pushes failed, the last after ${seconds(lastMs)}`,
    `events at most ${seconds(eventsMs)} late (${seconds(eventsAfterMs)} after the leader)`,
    `deliveries at most ${seconds(deliveriesMs)} late`,
  ];
  return [`${kind} ${target}`, parts.join('; ')];
}
