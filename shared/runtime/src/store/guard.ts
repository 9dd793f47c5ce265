// Wraps the driver's database, collections and cursors, so that the watchdog ends each of their operations while MongoDB is away.
import { AbstractCursor, AggregationCursor, Collection, UnorderedBulkOperation } from 'mongodb';
import { spanning, type Tracing } from '../tracing/index.ts';
import type { Watchdog } from './watchdog.ts';

/** A proxy of a driver object. In the driver, only async methods reach the server, and other methods build further objects. */
export function guarded<T extends object>(target: T, operate: Operate): T {
  const proxy: T = new Proxy(target, {
    get(_target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      if (member instanceof AsyncFunction) {
        return (...input: unknown[]) =>
          operate(target, String(key), () => Promise.resolve(Reflect.apply(member, target, input)));
      }
      return (...input: unknown[]) => {
        const built: unknown = Reflect.apply(member, proxy, input);
        if (built instanceof UnorderedBulkOperation) return guardedAtItsEnd(built, target, operate);
        const reaches = built instanceof AbstractCursor || built instanceof Collection;
        return reaches && built !== proxy ? guarded(built, operate) : built;
      };
    },
  });
  return proxy;
}

/** A bulk operation collects its documents by many calls and reaches the server only in `execute`. */
function guardedAtItsEnd(
  bulk: UnorderedBulkOperation,
  target: object,
  operate: Operate,
): UnorderedBulkOperation {
  const execute = bulk.execute.bind(bulk);
  bulk.execute = (options) => operate(target, 'bulkWrite', () => execute(options));
  return bulk;
}

const AsyncFunction = (async () => {}).constructor;

// One operation on the database: the watchdog ends it while MongoDB is away, and tracing makes a span of it. No span holds a value
// of a query or of a document.

/** `target` is the driver's object, and `name` the called method of that object. */
export type Operate = <T>(target: object, name: string, work: () => Promise<T>) => Promise<T>;

export function openOperate(watchdog: Watchdog, tracing: Tracing | undefined): Operate {
  const during = <T>(name: string, work: () => Promise<T>): Promise<T> =>
    watchdog.during(work, { isBounded: name !== 'createIndexes' });
  if (tracing === undefined) return (_target, name, work) => during(name, work);
  return (target, name, work) => {
    // Background operations, such as those of the sweeper, belong to no trace.
    const parent = tracing.current?.traceparent;
    if (parent === undefined || isLocal(target, name)) return during(name, work);
    const collection = collectionOf(target);
    const operation = operationOf(target, name);
    const span = tracing.begin({
      name: collection === undefined ? operation : `${operation} ${collection}`,
      kind: 'client',
      parent,
      attributes: {
        'db.system.name': 'mongodb',
        'db.operation.name': operation,
        'db.collection.name': collection,
      },
    });
    return spanning(span, () => during(name, work));
  };
}

/** Whether a cursor's method needs no server: the cursor still buffers documents of the server's last answer. */
const isLocal = (target: object, name: string): boolean =>
  target instanceof AbstractCursor && (name === 'close' || target.bufferedCount() > 0);

function collectionOf(target: object): string | undefined {
  if (target instanceof Collection) return target.collectionName;
  return target instanceof AbstractCursor ? target.namespace.collection : undefined;
}

/** Every method of a cursor sends the query of the cursor. */
function operationOf(target: object, name: string): string {
  if (!(target instanceof AbstractCursor)) return name;
  return target instanceof AggregationCursor ? 'aggregate' : 'find';
}
