// Operations of replicas on a real MongoDB, each of which waits until a test lets it run. Its answer may get lost.
import type { Store } from '@integration-sync/runtime/store';

/** The connection of one replica, or of a caller, to MongoDB. */
export interface Client {
  readonly name: string;
  isCut: boolean;
  /** What a killed process has sent may still reach MongoDB, but the process gets no answer, and sends nothing more. */
  isKilled?: boolean;
}

export interface Operation {
  client: Client;
  /** `webhook_endpoints.updateOne` */
  name: string;
  /** Runs the operation in MongoDB. With `isLost` the client gets an error in place of the answer. */
  run: (isLost: boolean) => Promise<void>;
}

const operations = new Set([
  'findOne',
  'findOneAndUpdate',
  'updateOne',
  'updateMany',
  'insertOne',
  'insertMany',
  'deleteOne',
  'deleteMany',
  'distinct',
  'countDocuments',
]);
export const chained = ['sort', 'skip', 'limit', 'hint', 'project'];

export interface Gates {
  /** The operations that wait until a test lets them run. */
  readonly waiting: Operation[];
  /** Operations that wait for no test, in the order in which they run: one at a time, so that their answers come in the same order. */
  readonly free: Operation[];
  /** What a query finds, if the test knows that without MongoDB: periodic checks mostly find nothing. */
  known: (name: string, args: readonly unknown[]) => unknown[] | undefined;
  /** Whether an operation waits for no test, such as that of a periodic check. */
  isFree: (name: string, args: readonly unknown[]) => boolean;
}

/** Partitions that no test is about belong to another replica. */
export interface OtherPartitions {
  partition: number;
  owner: string;
  stream: string;
}

export function gatedStore(store: Store, client: Client, gates: Gates, other?: OtherPartitions): Store {
  const gate = <T>(name: string, args: readonly unknown[], work: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      if (client.isKilled === true) return;
      const run = async (isLost: boolean): Promise<void> => {
        try {
          const answer = await work();
          if (client.isKilled === true) return;
          if (isLost) reject(new Error('the connection to MongoDB broke'));
          else resolve(answer);
        } catch (error) {
          reject(error instanceof Error ? error : new Error('MongoDB failed', { cause: error }));
        }
      };
      const isFree = gates.isFree(name, args) && !client.isCut;
      (isFree ? gates.free : gates.waiting).push({ client, name, run });
    });

  const cursorOf = (name: string, args: readonly unknown[], cursor: object): object =>
    new Proxy(cursor, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        const call = (...given: unknown[]): unknown => Reflect.apply(value, target, given);
        if (key === 'toArray') {
          const known = gates.known(name, args) ?? claimsOfOthers(name, args, other);
          return async () =>
            known ?? gate(name, args, async () => withOthers(name, args, other, (await call()) as unknown[]));
        }
        // How a batch of many documents is read (shared/runtime, store/chunks.ts).
        if (key === 'hasNext') return () => gate(name, args, async () => call());
        if (key === Symbol.asyncIterator)
          return async function* () {
            yield* await gate(name, args, async () =>
              (cursor as { toArray: () => Promise<unknown[]> }).toArray(),
            );
          };
        if (chained.includes(String(key)))
          return (...given: unknown[]) => cursorOf(name, args, Object(call(...given)));
        return call;
      },
    });

  const bulkOf = (name: string, bulk: object): object =>
    new Proxy(bulk, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        const call = (...given: unknown[]): unknown => Reflect.apply(value, target, given);
        return key === 'execute' ? () => gate(name, [], async () => call()) : call;
      },
    });

  return new Proxy(store, {
    get(target, key) {
      if (key === 'ensureIndexes') return async () => undefined;
      if (key !== 'collection') return Reflect.get(target, key) as unknown;
      return (collection: string) =>
        new Proxy(target.collection(collection), {
          get(real, method) {
            const name = `${collection}.${String(method)}`;
            const value: unknown = Reflect.get(real, method);
            if (typeof value !== 'function') return value;
            const call = (...args: unknown[]): unknown => Reflect.apply(value, real, args);
            if (method === 'find') return (...args: unknown[]) => cursorOf(name, args, Object(call(...args)));
            if (method === 'initializeUnorderedBulkOp')
              return () => bulkOf(`${collection}.bulk`, Object(call()));
            if (!operations.has(String(method))) return call;
            return (...args: unknown[]) => gate(name, args, async () => call(...args));
          },
        });
    },
  });
}

const partitionsIn = (name: string, args: readonly unknown[]): number[] | undefined =>
  name === 'webhook_partitions.find' ? (args[0] as { _id?: { $in?: number[] } })._id?.$in : undefined;

/** The claims of a query that asks only for partitions that no test is about. */
function claimsOfOthers(
  name: string,
  args: readonly unknown[],
  other: OtherPartitions | undefined,
): unknown[] | undefined {
  const wanted = partitionsIn(name, args);
  return other !== undefined && wanted?.includes(other.partition) === false
    ? withOthers(name, args, other, [])
    : undefined;
}

/** The found claims, with those of partitions that no test is about. */
function withOthers(
  name: string,
  args: readonly unknown[],
  other: OtherPartitions | undefined,
  found: unknown[],
): unknown[] {
  if (other === undefined) return found;
  const { partition, owner, stream } = other;
  const others = (partitionsIn(name, args) ?? []).filter((one) => one !== partition);
  return [...found, ...others.map((_id) => ({ _id, owner, term: 1, floor: 0, stream }))];
}
