// How soon a cluster goes on after a fault: pushes succeed again, events come to the stream, deliveries to receivers.
import { isOfCluster, isOfOneNode } from '../fault.ts';
import type { FaultLine, LeaderLine } from '../lines.ts';
import { isMeantFor } from './deliveries.ts';
import { isTaken, nameOf, syncIdOf, type Check, type Facts } from './facts.ts';
import type { Push } from './push.ts';
import { seconds } from './times.ts';

/** After this time, clients and the other nodes take a frozen node for dead. */
const noticedMs = 3_000;

/** A span in which pushes, events or deliveries could not go on. */
type Hindrance = Record<'fromMs' | 'toMs', number>;

/** A step that was possible from `sinceMs` on, and was done at `doneMs`. */
type Done = { what: string } & Record<'sinceMs' | 'doneMs', number>;

/** The faults of a cluster; empty for a storm without a cluster. */
const faultsOf = ({ faults }: Facts): FaultLine[] => faults.filter(isOfCluster);

/** Whether a push failed; a push whose caller hung up has no known answer, so it does not count. */
const isFailed = ({ outcome, endedMs }: Push): boolean =>
  outcome !== 200 && outcome !== 'hung-up' && Number.isFinite(endedMs);

export const checkRolls: Check = (facts, report) => {
  for (const { target, atMs, untilMs } of faultsOf(facts).filter(({ kind }) => kind === 'roll')) {
    for (const { id, outcome, begunMs, endedMs, problem = '' } of facts.pushes.filter(isFailed)) {
      if (endedMs < atMs || begunMs > untilMs) continue;
      const when = `${seconds(begunMs - atMs)} into a roll of ${target}`;
      report('roll', `push ${id}, ${when}, ended with ${outcome}: ${problem}`);
    }
  }
};

/** Finds pushes that fail for too long after a fault of one node. The last fault before the end of a push explains its failure. */
export const checkAway: Check = (facts, report) => {
  const { pushes, leaders, within } = facts;
  const faults = faultsOf(facts);
  for (const { id, outcome, endedMs, problem = '' } of pushes.filter(isFailed)) {
    const fault = faults.findLast(({ atMs }) => atMs <= endedMs);
    if (fault === undefined || fault.kind === 'roll' || !isOfOneNode(fault)) continue;
    const { target, kind, atMs } = fault;
    // A node that is back may make the other nodes elect once more.
    const lost = leaders.map(({ lostMs }) => lostMs).filter((lostMs) => lostMs > atMs && lostMs <= endedMs);
    const fromMs = Math.max(atMs + (kind === 'stop' ? noticedMs : 0), ...lost);
    if (endedMs <= fromMs + within.pushesMs) continue;
    const when = `${seconds(endedMs - atMs)} after ${kind} ${target}`;
    report('away', `push ${id} ended with ${outcome} ${when}: ${problem}`);
  }
};

export const checkLate: Check = (facts, report) => {
  if (faultsOf(facts).length === 0) return;
  const { eventsMs, deliveriesMs } = facts.within;
  for (const [found, all, hindrances, mostMs] of [
    ['event-late', storedOf(facts), hindrancesOf(facts, ofEvents(facts)), eventsMs],
    ['delivery-late', deliveredOf(facts), hindrancesOf(facts, facts.leaders), deliveriesMs],
  ] as const) {
    for (const one of all) {
      const lateMs = latenessOf(one, hindrances);
      if (lateMs <= mostMs) continue;
      const after = `${seconds(one.doneMs - one.sinceMs)} after its push, ${seconds(lateMs)} after it could`;
      report(found, `${one.what} came ${after}, at ${seconds(one.doneMs)}`);
    }
  }
};

const ofEvents = ({ leaders }: Facts): LeaderLine[] => leaders.filter(({ asset }) => asset === 'EVENTS');

/** The times without a leader, and those in which several nodes were away. */
function hindrancesOf(facts: Facts, leaders: readonly LeaderLine[]): Hindrance[] {
  const several = faultsOf(facts).filter((fault) => fault.kind !== 'roll' && !isOfOneNode(fault));
  return [
    ...leaders.map(({ lostMs, foundMs }) => ({ fromMs: lostMs, toMs: foundMs })),
    ...several.map(({ atMs, wholeMs = Infinity }) => ({ fromMs: atMs, toMs: wholeMs })),
  ];
}

/** Overdue pushes are announced within a minute (expectations.ts), and an event of what another push has overwritten has the time when its push began. */
function timedOf({ events, runs }: Facts): Facts['events'] {
  const begins = new Map(runs.map(({ run }) => [run.syncId, run.startedAt]));
  return events.filter(({ id, body: { data, timestamp } }) => {
    return !('dueAt' in data) && ('syncId' in data || begins.get(syncIdOf(id)) !== timestamp);
  });
}

const storedOf = (facts: Facts): Done[] =>
  timedOf(facts).map(({ id, body, storedAt }) => {
    return { what: id, sinceMs: facts.toLedger(body.timestamp), doneMs: facts.toLedger(storedAt) };
  });

/** For each event and healthy receiver, the first successful delivery. */
function deliveredOf(facts: Facts): Done[] {
  const { endpoints, hitsOf, toLedger } = facts;
  const steady = endpoints.filter(({ behaviour }) => behaviour === 'steady');
  const wanted = timedOf(facts).flatMap((event) =>
    steady.filter((of) => isMeantFor(event, of)).map((of) => ({ event, of })),
  );
  return wanted.flatMap(({ event: { id, body }, of: { endpoint } }): Done[] => {
    const taken = hitsOf.get(nameOf({ endpoint, event: id }))?.filter(isTaken) ?? [];
    const doneMs = Math.min(...taken.map(({ atMs }) => atMs));
    if (taken.length === 0) return [];
    return [{ what: `${id} to ${endpoint}`, sinceMs: toLedger(body.timestamp), doneMs }];
  });
}

/** How late a step was done, counted from the moment at which no hindrance was left. */
function latenessOf({ sinceMs, doneMs }: Done, hindrances: readonly Hindrance[]): number {
  const ends = hindrances
    .filter(({ fromMs, toMs }) => fromMs <= doneMs && toMs >= sinceMs)
    .map(({ toMs }) => Math.min(toMs, doneMs));
  return doneMs - Math.max(sinceMs, ...ends);
}

/** A line of the report for each fault. */
export function describeFaults(facts: Facts): [what: string, figures: string][] {
  const faults = faultsOf(facts);
  if (faults.length === 0) return [];
  const [stored, delivered] = [storedOf(facts), deliveredOf(facts)];
  const withoutLeader = hindrancesOf(facts, ofEvents(facts));
  return faults.map(({ kind, target, atMs, untilMs }, nth) => {
    const nextMs = faults[nth + 1]?.atMs ?? Infinity;
    const isDuring = (ms: number): boolean => ms >= atMs && ms < nextMs;
    const latest = (all: readonly Done[], hindrances: readonly Hindrance[] = []): string => {
      const during = all.filter(({ sinceMs }) => isDuring(sinceMs));
      return seconds(during.reduce((most, one) => Math.max(most, latenessOf(one, hindrances)), 0));
    };
    const failed = facts.pushes.filter((push) => isFailed(push) && isDuring(push.endedMs));
    const lastMs = Math.max(0, ...failed.map(({ endedMs }) => endedMs - atMs));
    const led = facts.leaders
      .filter(({ lostMs }) => isDuring(lostMs))
      .map(({ asset, lostMs, foundMs }) => `${asset} ${seconds(foundMs - lostMs)}`);
    const parts = [
      kind === 'roll' ? `${seconds(untilMs - atMs)} long` : `new leaders: ${led.join(', ') || 'none needed'}`,
      failed.length === 0
        ? 'no push failed'
        : `${failed.length} pushes failed, the last after ${seconds(lastMs)}`,
      `events at most ${latest(stored)} late (${latest(stored, withoutLeader)} after the leader)`,
      `deliveries at most ${latest(delivered)} late`,
    ];
    return [`${kind} ${target}`, parts.join('; ')];
  });
}
