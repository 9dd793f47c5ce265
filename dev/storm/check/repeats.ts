// Deliveries that a receiver took twice. A replica that is lost takes its acknowledgements with it, so some are sent again; but
// none without a cause, and never many.
import type { DeliveryLine, EndpointLine, EventLine, FaultLine, ReplayLine } from '../lines.ts';
import type { Push } from './push.ts';
import { seconds } from './story.ts';
import { openDates, openStruck, touchesDeliveries } from './times.ts';
import type { Report } from './violations.ts';

/** A delivery that is in doubt because of a fault is sent again within this time. */
const causedWithinMs = 20_000;
/**
 * A service that dies may have published without noting it, and then its sweeper publishes once more; a nats-server that was
 * started anew has forgotten ids of what it had handed out. So events from about the time of any fault may come twice.
 */
const doubtMs = 15_000;

/** A single fault makes a tenth of a short storm, so the share is judged from here on. */
const judgedFromSeconds = 100;
const shareMax = 0.03;
/**
 * Whatever the length of the storm, of each fault: what a replica of webhooks has in hand, eight deliveries of each endpoint;
 * and, of one of NATS, the events of a push or two that are published once more.
 */
const mostOf = ({ target }: FaultLine, endpoints: number): number =>
  ofServices.has(target) ? Math.max(50, endpoints * 8) : 500;
const ofServices = new Set<string>([
  'webhooks',
  'webhooks-nats',
  'webhooks-mongodb',
  'database',
  'postgresql',
]);
/** Of one endpoint, of each fault: as many as it may be ahead of its stored offset. */
const mostOfEndpoint = 64;
/** While one of these stands still, floors and offsets are not stored; the first write after it takes some time. */
const ofStore = new Set<string>(['webhooks-mongodb', 'database', 'postgresql']);
const storedAgainMs = 3_000;
/** Targets whose loss makes another replica take over partitions. */
const ofOwner = new Set<string>(['webhooks', 'webhooks-nats']);

interface Seen {
  seconds: number;
  deliveries: readonly DeliveryLine[];
  events: readonly EventLine[];
  endpoints: readonly EndpointLine[];
  faults: readonly FaultLine[];
  replays: readonly ReplayLine[];
}

export function checkRepeats(pushes: readonly Push[], seen: Seen, report: Report): void {
  const toLedger = openDates(pushes);
  const isStruck = openStruck(seen.faults);
  const causes = seen.faults.filter(touchesDeliveries);
  const isCaused = openStruck(causes);
  const occurredMs = new Map(seen.events.map(({ id, body }) => [id, toLedger(body.timestamp)]));
  const taken = seen.deliveries.filter(({ status }) => status >= 200 && status < 300);
  const repeats = repeatsOf(taken, seen.replays);
  for (const { endpoint, event, atMs, firstMs } of repeats) {
    const atEventMs = occurredMs.get(event) ?? 0;
    if (isCaused(atMs - causedWithinMs, atMs) || isStruck(atEventMs - doubtMs, atEventMs + doubtMs)) continue;
    const what = `${endpoint} took ${event} again ${seconds(atMs - firstMs)} after it, at ${seconds(atMs)}, though nothing had been struck`;
    report({ class: 'delivery-twice', what });
  }
  const { length: endpoints } = seen.endpoints;
  const wasUnstored = openUnstored(seen.faults);
  const ofFaults = repeats.filter(
    ({ atMs, firstMs }) => isCaused(atMs - causedWithinMs, atMs) && !wasUnstored(firstMs),
  );
  for (const [endpoint, { length }] of Map.groupBy(ofFaults, (repeat) => repeat.endpoint)) {
    if (length <= mostOfEndpoint * causes.length) continue;
    const what = `${endpoint} took ${length} deliveries again, with ${causes.length} faults`;
    report({ class: 'delivery-twice', what });
  }
  const most = taken.length * shareMax + causes.reduce((sum, fault) => sum + mostOf(fault, endpoints), 0);
  const counted = repeats.filter(({ firstMs }) => !wasUnstored(firstMs)).length;
  if (seen.seconds < judgedFromSeconds || counted <= most) return;
  const what = `${counted} of ${taken.length} deliveries were taken before; ${Math.floor(most)} may be, with ${causes.length} faults`;
  report({ class: 'delivery-twice', what });
}

/**
 * Whether no owner could store at that time what it delivered, and an owner was lost before it could. So its deliveries since then
 * come again, however many they are.
 */
function openUnstored(faults: readonly FaultLine[]): (atMs: number) => boolean {
  const losses = faults.filter(({ target }) => ofOwner.has(target));
  const spans = faults
    .filter(({ target }) => ofStore.has(target))
    .map(({ atMs, untilMs, wholeMs = 0 }) => ({
      fromMs: atMs,
      toMs: Math.max(untilMs, wholeMs) + storedAgainMs,
    }))
    .filter(({ fromMs, toMs }) => losses.some(({ atMs }) => fromMs <= atMs && atMs <= toMs));
  return (atMs) => spans.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs);
}

type Repeat = DeliveryLine & { firstMs: number };

/** Deliveries taken before; later ones of a replayed endpoint do not count, because a replay sends events again. */
function repeatsOf(taken: readonly DeliveryLine[], replays: readonly ReplayLine[]): Repeat[] {
  const replayedMs = new Map(replays.map(({ endpoint, atMs }) => [endpoint, atMs]));
  const first = new Map<string, number>();
  return taken
    .toSorted((one, other) => one.atMs - other.atMs)
    .flatMap((hit): Repeat[] => {
      const key = `${hit.endpoint} ${hit.event}`;
      const firstMs = first.get(key);
      if (firstMs === undefined) first.set(key, hit.atMs);
      const isReplayed = hit.atMs >= (replayedMs.get(hit.endpoint) ?? Infinity);
      return firstMs === undefined || isReplayed ? [] : [{ ...hit, firstMs }];
    });
}
