// The restores of the log that replicas have found, in MongoDB, so that all replicas agree on which stored sequences are valid.
import { eventBatchesStream } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';
import { isFirst, isFound, type Store } from '@integration-sync/runtime/store';
import { type NewestMessage, type Restore, validThrough } from './restores.ts';

interface FoundRestore extends Restore {
  /** The number of the restore: 1 for the log's first restore. */
  number: number;
  foundAt: Date;
}

interface KnownLog {
  _id: string;
  madeAt: Date;
  restores: FoundRestore[];
  version: number;
}

export const streamsCollection = 'webhook_streams';
const restoresMax = 20;
/** For how long a note of `/readyz` and a metric report a restore. */
const reportedForMs = 60 * 60 * 1000;

export type KnownRestores = ReturnType<typeof openKnownRestores>;

export function openKnownRestores(store: Store, log: Log) {
  const collection = store.collection<KnownLog>(streamsCollection);
  let all: readonly FoundRestore[] = [];

  const read = async (createdAt: string): Promise<KnownLog | null> => {
    const found = await collection.findOne({ _id: eventBatchesStream });
    all = found?.madeAt.toISOString() === createdAt ? found.restores : [];
    return found;
  };

  /** Stores the restores. False if another replica has changed their document since it was read. */
  const write = async (found: KnownLog | null, next: Omit<KnownLog, '_id'>): Promise<boolean> => {
    if (found === null) return isFirst(collection.insertOne({ _id: eventBatchesStream, ...next }));
    const asRead = { _id: eventBatchesStream, version: found.version };
    return isFound(collection.updateOne(asRead, { $set: next }));
  };

  const reported = (): FoundRestore[] => {
    const since = Date.now() - reportedForMs;
    return all.filter(({ foundAt }) => foundAt.getTime() > since);
  };

  return {
    read,
    get count(): number {
      return all.at(-1)?.number ?? 0;
    },
    /** Stores, unless another replica has, that the log lacks the message `lost` after a restore. */
    async note(createdAt: string, lost: NewestMessage, restore: Restore): Promise<void> {
      for (;;) {
        const found = await read(createdAt);
        if (validThrough(all, lost) < lost.sequence) return;
        const restores = withRestore(all, restore);
        const next = { madeAt: new Date(createdAt), restores, version: (found?.version ?? 0) + 1 };
        if (!(await write(found, next))) continue;
        all = restores;
        log.error(
          { stream: eventBatchesStream, lostFrom: restore.through + 1, lostThrough: lost.sequence },
          'NATS was restored from an older copy: the events from lostFrom to lostThrough are lost; deliveries and the feed go on after them',
        );
        return;
      }
    },
    /** Up to which sequence stored points still name the same events; Infinity if the log was not restored since `stored`. */
    validThrough: (stored: NewestMessage | undefined): number => validThrough(all, stored),
    get reported(): number {
      return reported().length;
    },
    notes: (): string[] =>
      reported().map(
        ({ foundAt }) =>
          `NATS was restored from an older copy, as found at ${foundAt.toISOString()}: the events since the copy are lost.`,
      ),
  };
}

/** Two replicas may find the same restore by different messages, so the restore may be in the list already. */
function withRestore(restores: readonly FoundRestore[], restore: Restore): FoundRestore[] {
  const last = restores.at(-1);
  if (last?.through !== restore.through) {
    const found = { ...restore, number: (last?.number ?? 0) + 1, foundAt: new Date() };
    return [...restores, found].slice(-restoresMax);
  }
  const before = last.before > restore.before ? last.before : restore.before;
  return [...restores.slice(0, -1), { ...last, before }];
}
