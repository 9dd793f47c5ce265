// Puts the watchdog under everything that is done with a collection, so that no caller has to think of it.
import { AbstractCursor, AggregationCursor, Collection, UnorderedBulkOperation } from 'mongodb';
import { spanning, type Tracing } from '../tracing/index.ts';
import type { Watchdog } from './watchdog.ts';

/**
 * The same driver object, whose operations end when the database goes away. The driver's rule makes this
 * short: what reaches the server is an async method, and what is not async only builds something that will.
 */
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

/** It is told of hundreds of documents, one by one, and reaches the server once. */
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

// One operation on the database: it ends when the database goes away, and is a step of the trace to which it belongs. No
// value that is asked for or stored stands in a span.

/** `target` is the driver's object whose method is called, and `name` that of the method. */
export type Operate = <T>(target: object, name: string, work: () => Promise<T>) => Promise<T>;

export function openOperate(watchdog: Watchdog, tracing: Tracing | undefined): Operate {
  if (tracing === undefined) return (_target, _name, work) => watchdog.during(work);
  return (target, name, work) => {
    // What no request asks for, such as looking for what was left behind, belongs to no trace.
    const parent = tracing.current?.traceparent;
    if (parent === undefined || isLocal(target, name)) return watchdog.during(work);
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
    return spanning(span, () => watchdog.during(work));
  };
}

/** A cursor has a hundred documents and more from each answer of the server, and hands them out one by one. */
const isLocal = (target: object, name: string): boolean =>
  target instanceof AbstractCursor && (name === 'close' || target.bufferedCount() > 0);

function collectionOf(target: object): string | undefined {
  if (target instanceof Collection) return target.collectionName;
  return target instanceof AbstractCursor ? target.namespace.collection : undefined;
}

/** Whatever a caller does with a cursor, the driver sends the query for it. */
function operationOf(target: object, name: string): string {
  if (!(target instanceof AbstractCursor)) return name;
  return target instanceof AggregationCursor ? 'aggregate' : 'find';
}
