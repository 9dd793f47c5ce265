// The journal: write-ahead log, outbox and sync history in one. One entry per push.
//
//   writing     its records are being written; its caller has no answer. Shown as running.
//   written     answered, or about to be; its events may still be due. Shown as completed.
//   announced   its events are on the stream. Kept for the history, then expires.
//
// `due` says from when on another replica may take the entry over: it stands on every entry that is not announced or is
// watched, and only there. `owner` names the process that works on it: a replica that takes it over puts its own name there,
// and from then on the owner before can no longer complete it.
//
// A replica that settles an entry that was left `writing` cannot know whether all that its writer has sent has come: an
// operation may wait on a connection that stands still, and the writer may be slow. So such an entry is `watched`:
// it keeps what was found, others leave evidence with it as with one that is being written, and it is due once
// more when nothing can come any more. If more is found then, it is `writing` again, to be settled as it now is.
// If not, it is done with. One of which nothing was found written stays `writing` meanwhile, where no history
// shows it, and then goes.
//
// Where a push was taken for dead before it had an entry, a tombstone stands: an id, and nothing by which a
// query finds it, so that the entry can no longer come.
import { isFirst, type Filter, type Store } from '@integration-sync/runtime/store';
import type { Backlog, Completion, Entry, Evidence, LeftBehind } from './journal-entry.ts';
import { dueAfter, dueAgainAfter, expiryAfter, lookAfter } from './journal-times.ts';

interface Tombstone {
  _id: string;
  expireAt: Date;
}

export interface Journal {
  /** False if something stands there already. */
  insert(entry: Entry): Promise<boolean>;
  /** Sees to it that no entry comes there any more. False if something stands there already. */
  bury(syncId: string, at: Date): Promise<boolean>;
  /** False if the entry has another owner by now. */
  complete(syncId: string, owner: string, completion: Completion): Promise<boolean>;
  markAnnounced(syncIds: readonly string[], at: Date): Promise<void>;
  /** Completes it for a writer of whom more may come. False if it has another owner by now. */
  settle(syncId: string, owner: string, completion: Completion): Promise<boolean>;
  /** Nothing of it was found. */
  hide(entry: Pick<Entry, '_id' | 'owner' | 'integration'>, at: Date): Promise<void>;
  /** What was settled is announced, and is looked at again later. */
  watch(syncId: string, owner: string, at: Date): Promise<void>;
  /** More came than its watermarks have counted. */
  settleAgain(entry: Pick<Entry, '_id' | 'owner' | 'integration'>, at: Date): Promise<void>;
  /** Nothing came after it was settled, and nothing will. */
  finish(entry: Pick<Entry, '_id' | 'owner' | 'hiddenFrom'>, at: Date): Promise<void>;
  /** Those that no replica works on any more, the longest waiting first. */
  leftBehind(at: Date, countMax: number): Promise<LeftBehind[]>;
  /** Takes one over, unless another replica did. */
  claim(left: LeftBehind, owner: string, at: Date): Promise<Entry | undefined>;
  /** It could not be settled, and is due again soon, unless another replica has taken it over. */
  postpone(entry: Pick<Entry, '_id' | 'owner' | 'startedAt'>, at: Date): Promise<void>;
  /** Puts an entry back to be settled once more, with all that its writer knows. */
  reopen(entry: Entry, at: Date): Promise<void>;
  /** The watermarks of a reopened entry are open again. False if it has another owner by now. */
  noteOpened(syncId: string, owner: string): Promise<boolean>;
  /** Those of which what they did may still have to be found out. */
  unsettledAmong(syncIds: readonly string[]): Promise<Set<string>>;
  /** Those whose records their watermarks have not counted yet. */
  pendingAmong(syncIds: readonly string[]): Promise<Set<string>>;
  backlog(): Promise<Backlog>;
  /** Pushes of the integration that were answered and may not be announced yet: all that are, up to so many. */
  unannounced(integration: string, countMax: number): Promise<string[]>;
  keepEvidence(syncId: string, changedById: ReadonlyMap<string, readonly string[]>): Promise<void>;
  evidenceOf(syncId: string): Promise<Evidence>;
  /** Removes what runs of the kind say of failed items with these ids, which may quote what such an item held. */
  forgetErrors(of: Pick<Entry, 'integration' | 'entityType'>, externalIds: readonly string[]): Promise<void>;
}

/** Counting must not become a burden itself, after an outage. */
const backlogMax = 10_000;

const unsettled: Filter<Entry> = { $or: [{ state: 'writing' }, { watched: true }] };

/** What is kept for as long as there may be something to announce. */
const untilAnnounced = { due: '', ids: '', outcomes: '', fields: '' } as const;

export function openJournal(store: Store, collection: string): Journal {
  const entries = store.collection<Entry & { expireAt?: Date }>(collection);
  const tombstones = store.collection<Tombstone>(collection);

  const among = async (syncIds: readonly string[], rule: Filter<Entry>): Promise<Set<string>> => {
    if (syncIds.length === 0) return new Set();
    const found = await entries
      .find({ _id: { $in: [...syncIds] }, ...rule }, { projection: { _id: 1 } })
      .toArray();
    return new Set(found.map(({ _id }) => _id));
  };

  const reopen = async (entry: Entry, at: Date): Promise<void> => {
    const { _id, evidence = {}, errors, ...known } = entry;
    const again = { ...known, state: 'writing', owner: '', due: at, reopened: true } as const;
    const left = Object.entries(evidence).map(([id, changed]) => [`evidence.${id}`, changed]);
    // All that is known, for there may be a tombstone in its place; but not errors, which may have been forgotten since.
    const { matchedCount } = await entries.updateOne(
      { _id },
      {
        $set: { ...again, ...Object.fromEntries(left) },
        $unset: { watched: '', hiddenFrom: '', expireAt: '' },
      },
    );
    if (matchedCount === 1) return;
    // It had done nothing when it was settled, and so it was removed.
    const whole = { _id, evidence, ...again, ...(errors === undefined ? {} : { errors }) };
    if (!(await isFirst(entries.insertOne(whole)))) await reopen(entry, at);
  };

  return {
    insert: (entry) => isFirst(entries.insertOne(entry)),
    bury: (syncId, at) => isFirst(tombstones.insertOne({ _id: syncId, expireAt: expiryAfter(at) })),
    async complete(syncId, owner, completion) {
      const { matchedCount } = await entries.updateOne(
        { _id: syncId, owner, state: 'writing' },
        {
          $set: { ...completion, state: 'written', due: dueAfter(completion.completedAt) },
          $unset: { evidence: '', reopened: '' },
        },
      );
      return matchedCount === 1;
    },
    async markAnnounced(syncIds, at) {
      await entries.updateMany(
        { _id: { $in: [...syncIds] }, state: 'written' },
        {
          $set: { state: 'announced', expireAt: expiryAfter(at) },
          $unset: untilAnnounced,
        },
      );
    },
    async settle(syncId, owner, completion) {
      const { matchedCount } = await entries.updateOne(
        { _id: syncId, owner, state: 'writing' },
        { $set: { ...completion, state: 'written', due: dueAfter(completion.completedAt), watched: true } },
      );
      return matchedCount === 1;
    },
    async hide({ _id, owner, integration }, at) {
      await entries.updateOne(
        { _id, owner, state: 'writing' },
        {
          $set: { watched: true, hiddenFrom: integration, due: lookAfter(at) },
          $unset: { integration: '', outcomes: '', fields: '' },
        },
      );
    },
    async watch(syncId, owner, at) {
      await entries.updateOne(
        { _id: syncId, owner, state: 'written' },
        { $set: { state: 'announced', due: lookAfter(at) } },
      );
    },
    async settleAgain({ _id, owner, integration }, at) {
      await entries.updateOne(
        { _id, owner },
        {
          $set: { integration, state: 'writing', owner: '', due: at, reopened: true },
          $unset: { watched: '', hiddenFrom: '' },
        },
      );
    },
    async finish({ _id, owner, hiddenFrom }, at) {
      const mine = { _id, owner, watched: true } as const;
      if (hiddenFrom !== undefined) await entries.deleteOne(mine);
      else {
        await entries.updateOne(mine, {
          $set: { expireAt: expiryAfter(at) },
          $unset: { ...untilAnnounced, evidence: '', watched: '' },
        });
      }
    },
    async leftBehind(at, countMax) {
      const found = await entries
        .find({ due: { $lte: at } }, { projection: { due: 1 } })
        .hint('left-behind')
        .sort({ due: 1 })
        .limit(countMax)
        .toArray();
      return found.flatMap(({ _id, due }) => (due === undefined ? [] : [{ syncId: _id, due }]));
    },
    async claim({ syncId, due }, owner, at) {
      const claimed = await entries.findOneAndUpdate(
        { _id: syncId, due },
        { $set: { owner, due: dueAfter(at) } },
        { returnDocument: 'after', promoteBuffers: true },
      );
      if (claimed === null) return undefined;
      return { ...claimed, integration: claimed.hiddenFrom ?? claimed.integration };
    },
    async postpone({ _id, owner, startedAt }, at) {
      // One that is done with has no time at which it is due.
      const mine = { _id, owner, due: { $exists: true } };
      await entries.updateOne(mine, { $set: { due: dueAgainAfter(startedAt, at) } });
    },
    reopen,
    async noteOpened(syncId, owner) {
      const { matchedCount } = await entries.updateOne(
        { _id: syncId, owner, state: 'writing' },
        { $unset: { reopened: '' } },
      );
      return matchedCount === 1;
    },
    unsettledAmong: (syncIds) => among(syncIds, unsettled),
    pendingAmong: (syncIds) => among(syncIds, { due: { $exists: true }, watched: { $exists: false } }),
    async backlog() {
      const [found] = await entries
        .aggregate<Omit<Backlog, 'oldestAt'> & { oldestAt: Date }>(
          [
            { $match: { due: { $gt: new Date(0) }, watched: { $exists: false } } },
            { $limit: backlogMax },
            { $group: { _id: null, count: { $sum: 1 }, oldestAt: { $min: '$startedAt' } } },
          ],
          { hint: 'left-behind' },
        )
        .toArray();
      return found ?? { count: 0, oldestAt: undefined };
    },
    async unannounced(integration, countMax) {
      const found = await entries
        .find({ due: { $gt: new Date(0) }, integration, state: 'written' }, { projection: { _id: 1 } })
        .hint('left-behind')
        .limit(countMax)
        .toArray();
      return found.map(({ _id }) => _id);
    },
    async keepEvidence(syncId, changedById) {
      const evidence = [...changedById].map(([id, changed]) => [`evidence.${id}`, [...changed]]);
      await entries.updateOne({ _id: syncId, ...unsettled }, { $set: Object.fromEntries(evidence) });
    },
    async evidenceOf(syncId) {
      const found = await entries.findOne({ _id: syncId }, { projection: { evidence: 1 } });
      return found?.evidence ?? {};
    },
    async forgetErrors({ integration, entityType }, externalIds) {
      const ofThese = { $in: [...externalIds] };
      await entries.updateMany(
        {
          'errors.externalId': ofThese,
          entityType,
          $or: [{ integration }, { hiddenFrom: integration }],
        },
        { $pull: { errors: { externalId: ofThese } } },
        { hint: 'failed-ids' },
      );
    },
  };
}
