// What webhooks promises of one endpoint, whatever replicas, MongoDB, NATS, the receiver and callers do to each other. Each check names
// what it found.
import { limits } from '@integration-sync/contracts';
import type { Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { isBefore, isSame } from '../../../services/webhooks/src/log/offsets.ts';
import type { Attempt, World } from './world.ts';

/** What happened to the replicas, by which a promise may be weaker. */
export interface Troubles {
  /** A replica was cut off from NATS or MongoDB, or killed. */
  cuts: number;
  lostAnswers: number;
  stops: number;
}

export function broken(world: World, troubles: Troubles): string[] {
  return [
    ...wrongCounts(world),
    ...wrongDisablings(world),
    ...wrongTrials(world),
    ...wrongAttempts(world, troubles),
    ...wrongEvents(world),
    ...wrongMissed(world),
  ];
}

/** No failure counts that ended before the endpoint was enabled, and none counts twice. */
function wrongCounts({ stored, attempts }: World): string[] {
  let enabledAt = 0;
  let before: Endpoint | null = null;
  const wrong: string[] = [];
  for (const { at, endpoint } of stored) {
    if (endpoint?.active === true && before?.active === false) enabledAt = at;
    before = endpoint;
    if (endpoint === null) continue;
    const since = enabledAt;
    const failed = attempts.filter((one) => isFailed(one) && (one.endedAt ?? Infinity) >= since);
    if (endpoint.failures > failed.length)
      wrong.push(`step ${at}: ${endpoint.failures} failures are counted of ${failed.length} since ${since}`);
  }
  return wrong;
}

/** Failures disable by the tenth alone, and a 410 only if it is of the present url. */
function wrongDisablings({ stored, attempts }: World): string[] {
  const seen = new Set<number>();
  return stored.flatMap(({ at, endpoint }) => {
    if (endpoint === null || endpoint.active || seen.has(endpoint.epoch)) return [];
    seen.add(endpoint.epoch);
    const { disabledReason, failures, url } = endpoint;
    if (disabledReason === 'failures' && failures !== limits.failuresBeforeDisabling)
      return [`step ${at}: disabled after ${failures} failures`];
    const gone = attempts.some((one) => one.answer === 'gone' && one.url === url);
    return disabledReason === 'gone' && !gone ? [`step ${at}: disabled by a 410 of a former url`] : [];
  });
}

/**
 * While the circuit is open, a replica begins no attempt beside one that it began since the circuit opened. A version that the replica has
 * not heard of says nothing of the url to which it sends. The owner may not know a failure that a former owner stored late.
 */
function wrongTrials({ stored, attempts, replicas }: World): string[] {
  const isOpen = (from: number, to: number, version: number): boolean => {
    const known = stored.findLastIndex(({ at }) => at < from);
    return stored
      .slice(Math.max(known, 0))
      .filter(({ at }) => at <= to)
      .every(
        ({ endpoint, by, owner }) =>
          endpoint?.active === true &&
          !endpoint.open &&
          endpoint.version <= version &&
          (by === owner || !replicas.some(({ name }) => name === by)),
      );
  };
  return attempts.flatMap((one, at) =>
    attempts
      .slice(0, at)
      .filter(
        (other) =>
          other.replica === one.replica &&
          (other.endedAt ?? Infinity) >= one.begunAt &&
          isSameStart(other, one) &&
          isOpen(other.begunAt, one.begunAt, one.endpoint.version),
      )
      .map((other) => `step ${one.begunAt}: ${one.eventId} is tried beside the trial ${other.eventId}`),
  );
}

/** Both attempts are of the same url, and of the same time between two disablings. */
const isSameStart = (one: Attempt, other: Attempt): boolean =>
  one.endpoint.version === other.endpoint.version && one.endpoint.epoch === other.endpoint.epoch;

/** Without trouble, an event has four attempts, each has its number, and none follows a success. */
function wrongAttempts({ attempts, asked }: World, { cuts, lostAnswers }: Troubles): string[] {
  if (cuts + lostAnswers + asked.length > 0) return [];
  const wrong: string[] = [];
  for (const [eventId, all] of Map.groupBy(attempts, (one) => one.eventId)) {
    const sent = all.filter(({ answer }) => answer !== 'not sent');
    const numbers = sent.map(({ number }) => number);
    if (numbers.some((number, at) => number !== at + 1))
      wrong.push(`${eventId}: attempts ${numbers.join(', ')}`);
  }
  return wrong;
}

interface Disabling {
  epoch: number;
  at: number;
  enabledAt: number;
  owners: (string | null)[];
}

/** When the endpoint was disabled and enabled again, and who owned its partition then, and when the missed events were stored. */
function disablingsOf({ stored, asked }: World): Disabling[] {
  const answeredAt = (at: number): number =>
    Math.min(
      ...asked.flatMap(({ what, endedAt = Infinity }) =>
        what === 'a caller enables' && endedAt >= at ? [endedAt] : [],
      ),
      Infinity,
    );
  return stored.flatMap(({ at, endpoint, owner }, place) => {
    const before = stored[place - 1]?.endpoint;
    if (endpoint?.active !== false || before?.active !== true) return [];
    const epoch = endpoint.epoch - 1;
    const later = stored.slice(place);
    const known = later.find((one) => one.endpoint?.missed?.[epoch] !== null);
    const enabled = later.find((one) => one.endpoint?.active === true);
    return [
      { epoch, at, enabledAt: answeredAt(enabled?.at ?? Infinity), owners: [owner, known?.owner ?? null] },
    ];
  });
}

/** Each event is delivered, given up, missed by a disabling, or occurred while the endpoint was disabled. */
function wrongEvents(world: World): string[] {
  const { pushed, attempts, stored } = world;
  const disablings = disablingsOf(world);
  const missed = stored.at(-1)?.endpoint?.missed ?? {};
  return pushed.flatMap(({ id, at, point }) => {
    const its = attempts.filter((one) => one.eventId === id);
    const isMissed = (epoch: number): boolean => {
      const stood = missed[epoch];
      if (stood === undefined || stood === null) return false;
      return !isBefore(point, stood) || stood.open.some((one) => isSame(one, point));
    };
    const deliveredBefore = (end: number): Attempt[] =>
      its.filter(({ answer, endedAt = Infinity }) => answer === 'succeeded' && endedAt < end);
    const wrong = disablings.flatMap(({ epoch, at: disabledAt, owners: [first, last] }) => {
      const twice = deliveredBefore(disabledAt).filter(
        ({ replica, wasClosed, endedAt = 0 }) =>
          wasClosed && replica.name === first && first === last && endedAt > world.ownedSince(disabledAt),
      );
      return twice.length > 0 && isMissed(epoch)
        ? [`${id} counts as missed, though its owner delivered it`]
        : [];
    });
    const isDelivered = deliveredBefore(Infinity).length > 0;
    const isGivenUp = its.filter(isFailed).length >= 4;
    const isAway = disablings.some((one) => one.at <= at && at <= one.enabledAt);
    const isKept = disablings.some((one) => at < one.at && isMissed(one.epoch));
    if (isDelivered || isGivenUp || isAway || isKept) return wrong;
    return wrong.concat(`${id} is lost`);
  });
}

/** The owner has stored the missed events of each disabling in the end. */
const wrongMissed = ({ stored }: World): string[] =>
  Object.entries(stored.at(-1)?.endpoint?.missed ?? {}).flatMap(([epoch, missed]) =>
    missed === null ? [`no owner stored the missed events of epoch ${epoch}`] : [],
  );

const isFailed = ({ answer }: Attempt): boolean => answer === 'failed' || answer === 'gone';
