// Deliveries that a receiver took twice. A lost replica may not have stored its last deliveries, so the next owner repeats
// them. No delivery is repeated without a cause, and never many are.
import type { DeliveryLine, FaultLine, Lines } from '../lines.ts';
import { hasTimedOut, sameMs } from './attempts.ts';
import { isTaken, nameOf, type Check, type Facts } from './facts.ts';
import { overMs, seconds, touchesDeliveries } from './times.ts';

/** A delivery that is in doubt because of a fault is sent again within this time. */
const causedWithinMs = 20_000;
/**
 * A dead service may have published events without noting that, and then a sweeper publishes them again; a restarted nats-server
 * has forgotten the ids of messages. So events from about the time of any fault may come twice.
 */
const doubtMs = 15_000;

/** The share of repeats is not checked in a shorter storm, where one fault may make a tenth of all deliveries repeats. */
const judgedFromSeconds = 100;
const shareMax = 0.03;
/**
 * How many repeats each fault may cause in a storm of any length: of webhooks, the eight deliveries in flight of each endpoint; of
 * NATS, the events of a push or two that are published once more.
 */
const mostOf = ({ target }: FaultLine, endpoints: number): number =>
  ofOwner.has(target) || ofStore.has(target) ? Math.max(50, endpoints * 8) : 500;
/** How many repeats a fault may cause at one endpoint: as many deliveries as may be beyond its stored offset. */
const mostOfEndpoint = 64;
/** While one of these targets is frozen, owners store no floors and offsets; the first write afterwards takes some time. */
const ofStore = new Set<string>(['webhooks-mongodb', 'database', 'postgresql']);
const storedAgainMs = 3_000;
/** Targets whose loss makes another replica take over partitions. */
const ofOwner = new Set<string>(['webhooks', 'webhooks-nats']);

export const checkRepeats: Check = (facts, report) => {
  const { faults, eventById, endpoints, deliveries, replays, toLedger, isStruck, isDeliveryStruck } = facts;
  const causes = faults.filter(touchesDeliveries);
  const planned = new Set(endpoints.map(({ endpoint }) => endpoint));
  const taken = deliveries.filter((hit) => isTaken(hit) && planned.has(hit.endpoint));
  const repeats = repeatsOf(taken, replays).filter((repeat) => !isRetry(repeat, facts));
  const isCaused = ({ atMs }: Repeat): boolean => isDeliveryStruck(atMs - causedWithinMs, atMs);
  for (const repeat of repeats) {
    const { endpoint, event, atMs, firstMs } = repeat;
    const atEventMs = toLedger(eventById.get(event)?.body.timestamp ?? '');
    if (isCaused(repeat) || isStruck(atEventMs - doubtMs, atEventMs + doubtMs)) continue;
    const when = `${seconds(atMs - firstMs)} after it, at ${seconds(atMs)}`;
    report('delivery-twice', `${endpoint} took ${event} again ${when}, though nothing had been struck`);
  }
  const wasUnstored = openUnstored(faults);
  const counted = repeats.filter(({ firstMs }) => !wasUnstored(firstMs));
  const withFaults = `with ${causes.length} faults`;
  for (const [endpoint, { length }] of Map.groupBy(counted.filter(isCaused), (repeat) => repeat.endpoint))
    if (length > mostOfEndpoint * causes.length)
      report('delivery-twice', `${endpoint} took ${length} deliveries again, ${withFaults}`);
  const ofFaults = causes.reduce((sum, fault) => sum + mostOf(fault, endpoints.length), 0);
  const most = taken.length * shareMax + ofFaults;
  if (facts.seconds < judgedFromSeconds || counted.length <= most) return;
  const share = `${counted.length} of ${taken.length} deliveries were taken before`;
  report('delivery-twice', `${share}; ${Math.floor(most)} may be, ${withFaults}`);
};

/** Whether a fault then kept owners from storing progress, and an owner was lost: any delivery since may be repeated. */
function openUnstored(faults: readonly FaultLine[]): (atMs: number) => boolean {
  const losses = faults.filter(({ target }) => ofOwner.has(target));
  const spans = faults
    .filter(({ target }) => ofStore.has(target))
    .map((fault) => ({ fromMs: fault.atMs, toMs: overMs(fault) + storedAgainMs }))
    .filter(({ fromMs, toMs }) => losses.some(({ atMs }) => fromMs <= atMs && atMs <= toMs));
  return (atMs) => spans.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs);
}

interface Repeat extends DeliveryLine {
  firstMs: number;
  /** The earlier deliveries of the event that the receiver answered 2xx, oldest first. */
  earlier: readonly DeliveryLine[];
}

/** Later deliveries of a replayed endpoint do not count, because a replay sends events again. */
function repeatsOf(taken: readonly DeliveryLine[], replays: Lines['replays']): Repeat[] {
  const replayedMs = new Map(replays.map(({ endpoint, atMs }) => [endpoint, atMs]));
  const inOrder = taken.toSorted((one, other) => one.atMs - other.atMs);
  return [...Map.groupBy(inOrder, nameOf).values()].flatMap((hits) =>
    hits.flatMap((hit, nth): Repeat[] => {
      const [first] = hits;
      const isReplayed = hit.atMs >= (replayedMs.get(hit.endpoint) ?? Infinity);
      if (first === undefined || nth === 0 || isReplayed) return [];
      return [{ ...hit, firstMs: first.atMs, earlier: hits.slice(0, nth) }];
    }),
  );
}

/** Whether each earlier attempt had timed out by its log entry, and the busy receiver answered after the time-out. */
function isRetry({ endpoint, event, earlier }: Repeat, { logs }: Facts): boolean {
  const failed = logs.get(endpoint)?.failed.filter((entry) => entry.event === event && hasTimedOut(entry));
  const ends = (failed ?? []).map(({ endedMs }) => endedMs).toSorted((one, other) => one - other);
  return earlier.every(({ atMs }, nth) => atMs >= (ends[nth] ?? Infinity) - sameMs);
}
