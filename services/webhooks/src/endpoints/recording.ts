// What attempts change in an endpoint: the circuit, the counter, and the disablings that are not announced yet.
import type { Collection, Filter } from '@integration-sync/runtime/store';
import type { OpenEvent } from '../log/offset.ts';
import { disablingsMax, type DisabledReason, type Endpoint, type Missed, type Recovery } from './endpoint.ts';
import { firstTest } from './recovery.ts';

/** More of them wait only while the bus is away. */
const unannouncedMax = 500;

export const recording = (collection: Collection<Endpoint>) => ({
  async recordSuccess({ _id, epoch, url }: Pick<Endpoint, '_id' | 'epoch' | 'url'>, failures: number) {
    const { modifiedCount } = await collection.updateOne(
      { _id, epoch, url, active: true, open: false },
      { $set: { open: true, failures } },
    );
    return modifiedCount === 1;
  },
  recordFailure: (read: Endpoint, failures: number, trials: readonly OpenEvent[]) =>
    collection.findOneAndUpdate(
      asRead(read),
      { $set: { failures, trials: [...trials], open: false }, $inc: { mark: 1 } },
      { returnDocument: 'after' },
    ),
  disable: (read: Endpoint, { reason, failures, at, missed }: Disabling) =>
    collection.findOneAndUpdate(asRead(read), disabling(read, { reason, failures, at, missed }), {
      returnDocument: 'after',
    }),
  /** Says what was undelivered when the epoch ended, unless that is known already. */
  async recordMissed(id: string, epoch: number, missed: Missed) {
    const place = `missed.${epoch}`;
    await collection.updateOne({ _id: id, [place]: null }, { $set: { [place]: missed } });
  },
  unannounced: () =>
    collection
      .find({ 'unannounced.epoch': { $gte: 0 } })
      .limit(100)
      .toArray(),
  unannouncedOf: (integration: string) =>
    collection
      .find({ integration, 'unannounced.epoch': { $gte: 0 } })
      .hint('unannounced')
      .project<Pick<Endpoint, '_id' | 'unannounced'>>({ unannounced: 1 })
      .limit(unannouncedMax)
      .toArray(),
  async recordAnnounced(id: string, epoch: number) {
    await collection.updateOne({ _id: id }, { $pull: { unannounced: { epoch } } });
  },
  countDisabled: () => collection.countDocuments({ disabledAt: { $gt: new Date(0) } }),
});

/** These tell whether anything has happened to an endpoint since it was read. */
export const asRead = ({ _id, version, mark, failures, open, active }: Endpoint): Filter<Endpoint> => ({
  _id,
  version,
  mark,
  failures,
  open,
  active,
});

export interface Disabling {
  reason: DisabledReason;
  failures: number;
  at: Date;
  /** Null: its owner is to say it. */
  missed: Missed | null;
}

/** The one update that stops an endpoint, for a caller as for an attempt. */
export const disabling = (
  { epoch, url, recover, recovery }: Endpoint,
  { reason, failures, at, missed }: Disabling,
) => ({
  $set: {
    active: false,
    disabledAt: at,
    disabledReason: reason,
    failures,
    open: false,
    trials: [],
    [`missed.${epoch}`]: missed,
    ...(reason === 'failures' && recover === true ? testedFrom(at, recovery) : {}),
  },
  ...(epoch < disablingsMax ? {} : { $unset: { [`missed.${epoch - disablingsMax}`]: 1 as const } }),
  $inc: { epoch: 1, mark: 1 },
  $push: {
    disablings: { $each: [{ epoch, at }], $slice: -disablingsMax },
    unannounced: {
      $each: [{ epoch, at, url, reason, consecutiveFailures: failures }],
      $slice: -disablingsMax,
    },
  },
});

function testedFrom(at: Date, before: Recovery | undefined): { recovery?: Recovery } {
  const recovery = firstTest(at, at, before?.since);
  return recovery === undefined ? {} : { recovery };
}
