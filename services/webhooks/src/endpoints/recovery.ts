// The recovery of disabled endpoints, after a test delivery or for an operator. The endpoint's document has the next step and its
// due time. Replicas poll for due steps, and the replica whose update moves the due time does the step. If that replica dies, the
// step is due again 20 s later.
//
//   the endpoint is   the step is      what the replica does
//   ────────────────  ───────────────  ─────────────────────────────────────────────────────────────────────────
//   disabled          test             makes a test delivery; its 2xx enables the endpoint, and the next step is send
//   disabled          enable           enables the endpoint without a test, for an operator; the next step is send
//   enabled           send             sends missed events, publishes `webhook.enabled`, and ends the recovery
//   disabled again    none             nothing; if the endpoint has `recover`, a new recovery begins with a test
import type { Collection, Filter } from '@integration-sync/runtime/store';
import type { Endpoint, Recovery } from './endpoint.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const firstTestsMs = [5 * minuteMs, 15 * minuteMs, hourMs];
const testedForMs = 7 * 24 * hourMs;

/** When the first test after `after` is due: tests are due 5, 15 and 60 minutes after the disabling, then hourly for 7 days. */
export function nextTestAt(disabledAt: Date, after: Date): Date | undefined {
  const sinceMs = after.getTime() - disabledAt.getTime();
  const nextMs = firstTestsMs.find((ms) => ms > sinceMs) ?? (Math.floor(sinceMs / hourMs) + 1) * hourMs;
  return nextMs > testedForMs ? undefined : new Date(disabledAt.getTime() + nextMs);
}

/** `since` is given if the endpoint misses events since before this disabling. */
export function firstTest(disabledAt: Date, now: Date, since?: Date): Recovery | undefined {
  const dueAt = nextTestAt(disabledAt, now);
  if (dueAt === undefined) return undefined;
  return { step: 'test', dueAt, replays: true, ...(since === undefined ? {} : { since }) };
}

/** How long a replica reserves a step of a recovery for itself: longer than a test delivery takes. */
const heldMs = 20_000;

export const recovering = (collection: Collection<Endpoint>) => ({
  /** Due steps, except of the integrations in `without`. */
  dueRecoveries: (limit: number, without: readonly string[]): Promise<Endpoint[]> =>
    collection
      .find({ 'recovery.dueAt': { $lte: new Date() }, integration: { $nin: [...without] } })
      .limit(limit)
      .toArray(),
  /** Reserves the due step for this replica. Undefined if another replica does the step, or the step is done. */
  async holdRecovery(read: Endpoint): Promise<Endpoint | undefined> {
    const dueAt = new Date(Date.now() + heldMs);
    const held = await collection.findOneAndUpdate(
      sameRecovery(read),
      { $set: { 'recovery.dueAt': dueAt } },
      { returnDocument: 'after' },
    );
    return held ?? undefined;
  },
  async setRecovery(held: Endpoint, next: Recovery | undefined): Promise<void> {
    const update = next === undefined ? { $unset: { recovery: 1 as const } } : { $set: { recovery: next } };
    await collection.updateOne(sameRecovery(held), update);
  },
  /** Enables the endpoint. Resolves with null if the endpoint has changed since it was read. */
  enable: (held: Endpoint, eventsAfter: number): Promise<Endpoint | null> =>
    collection.findOneAndUpdate(
      { ...sameRecovery(held), version: held.version, active: false },
      {
        $set: {
          ...enabled,
          eventsAfter,
          eventsUnderWay: [],
          recovery: {
            step: 'send' as const,
            dueAt: new Date(Date.now() + heldMs),
            replays: held.recovery?.replays ?? true,
            since: held.recovery?.since ?? held.disabledAt ?? new Date(),
            epoch: held.epoch,
          },
        },
        $inc: { version: 1, mark: 1 },
      },
      { returnDocument: 'after' },
    ),
});

const sameRecovery = ({ _id, epoch, recovery }: Endpoint): Filter<Endpoint> => ({
  _id,
  epoch,
  'recovery.step': recovery?.step ?? '',
  'recovery.dueAt': recovery?.dueAt ?? new Date(0),
});

/** The fields that are reset when a caller or a recovery enables an endpoint. */
export const enabled = {
  active: true,
  disabledAt: null,
  disabledReason: null,
  failures: 0,
  open: false,
  trials: [],
};
