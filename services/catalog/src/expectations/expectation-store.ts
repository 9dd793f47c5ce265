// The stored expectations: one document for each integration and kind of record, which carries its own next check. Replicas
// poll for due checks, and the replica whose update moves the time of a check does the check. If that replica dies, the check is
// due again 20 s later.
import { entityTypes, type EntityType } from '@integration-sync/contracts';
import { isFound, type Filter, type NamedIndex, type Store } from '@integration-sync/runtime/store';

export interface Expectation {
  /** Integration and kind, such as `acme/batch`: the name of an integration has no slash. */
  _id: string;
  integration: string;
  entityType: EntityType;
  everyHours: number;
  setAt: Date;
  /** When the last push that checks have found was answered; null if they have found none. */
  pushedAt: Date | null;
  /** The time before which checks have read all pushes. */
  readTo: Date;
  /** The greatest sync id of the pushes whose times were in the future by the clock of the check. */
  ahead?: string;
  /** The due time that has passed without a push. Absent once a check has found the next push. */
  overdue?: Overdue;
  checkAt: Date;
}

export interface Overdue {
  dueAt: Date;
  /** When a check found that the expectation is overdue. `sync.overdue` has this time, even if it is published twice. */
  foundAt: Date;
  isAnnounced: boolean;
}

export type Expected = Pick<Expectation, 'integration' | 'entityType'>;

export type ExpectationStore = Awaited<ReturnType<typeof openExpectationStore>>;

export const expectationsCollection = 'catalog_expectations';
const indexes: readonly NamedIndex[] = [{ name: 'due-checks', key: { checkAt: 1 } }];

/** How long a replica reserves a check for itself: longer than the reads of a check may take. */
const heldMs = 20_000;

const idOf = ({ integration, entityType }: Expected): string => `${integration}/${entityType}`;

/** Matches an expectation only if, since it was read, no caller has set it and no replica has reserved its check. */
const asRead = ({ _id, everyHours, setAt, checkAt }: Expectation): Filter<Expectation> => ({
  _id,
  everyHours,
  setAt,
  checkAt,
});

export async function openExpectationStore(store: Pick<Store, 'collection' | 'ensureIndexes'>) {
  const expectations = store.collection<Expectation>(expectationsCollection);
  await store.ensureIndexes(expectationsCollection, indexes);
  return {
    of(integration: string): Promise<Expectation[]> {
      const ids = entityTypes.map((entityType) => idOf({ integration, entityType }));
      return expectations.find({ _id: { $in: ids } }).toArray();
    },
    /** Sets the hours of an expectation, which count from now. Keeps the facts about pushes that checks have found. */
    async set(
      expected: Expected,
      { everyHours, at, checkAt, readTo }: { everyHours: number; at: Date; checkAt: Date; readTo: Date },
    ): Promise<void> {
      await expectations.updateOne(
        { _id: idOf(expected) },
        {
          $set: { ...expected, everyHours, setAt: at, checkAt },
          $setOnInsert: { pushedAt: null, readTo },
          $unset: { overdue: '' },
        },
        { upsert: true },
      );
    },
    async end(expected: Expected): Promise<void> {
      await expectations.deleteOne({ _id: idOf(expected) });
    },
    /** Makes the checks after `late` due: a replica whose clock was ahead has put them off. */
    async bringForward(late: Date, at: Date): Promise<void> {
      await expectations.updateMany({ checkAt: { $gt: late } }, { $set: { checkAt: at } });
    },
    /** Expectations whose check is due, the longest due first. */
    due: (at: Date, countMax: number): Promise<Expectation[]> =>
      expectations
        .find({ checkAt: { $lte: at } })
        .sort({ checkAt: 1 })
        .limit(countMax)
        .toArray(),
    /** Reserves a check. Undefined if another replica does the check, or the expectation was set again or ended. */
    async hold(read: Expectation, at: Date): Promise<Expectation | undefined> {
      const checkAt = new Date(at.getTime() + heldMs);
      const held = await expectations.findOneAndUpdate(
        asRead(read),
        { $set: { checkAt } },
        { returnDocument: 'after' },
      );
      return held ?? undefined;
    },
    /** Stores what a check has found. False if the expectation was set again or ended, or another replica has the check. */
    note(held: Expectation, found: Found): Promise<boolean> {
      const { overdue, ...others } = found;
      const update =
        overdue === undefined ? { $set: others, $unset: { overdue: '' as const } } : { $set: found };
      return isFound(expectations.updateOne(asRead(held), update));
    },
    async countOverdue(): Promise<Map<EntityType, number>> {
      const counts = await expectations
        .aggregate<{ _id: EntityType; count: number }>([
          { $match: { overdue: { $exists: true } } },
          { $group: { _id: '$entityType', count: { $sum: 1 } } },
        ])
        .toArray();
      return new Map(counts.map(({ _id, count }) => [_id, count]));
    },
  };
}

/** Reads the overdue expectations of all integrations, for commands of operators. */
export async function readOverdue(
  store: Pick<Store, 'collection'>,
): Promise<(Expected & Pick<Overdue, 'dueAt'>)[]> {
  const found = await store
    .collection<Expectation>(expectationsCollection)
    .find({ overdue: { $exists: true } })
    .toArray();
  return found.flatMap(({ integration, entityType, overdue }) =>
    overdue === undefined ? [] : [{ integration, entityType, dueAt: overdue.dueAt }],
  );
}

/** The fields that a check stores. If `overdue` is absent, the expectation is not overdue. */
export type Found = Partial<Pick<Expectation, 'pushedAt' | 'readTo' | 'ahead' | 'overdue'>> &
  Pick<Expectation, 'checkAt'>;
