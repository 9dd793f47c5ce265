// One operation on the database: it ends when the database goes away, and is a step of the trace to which it belongs. No
// value that is asked for or stored stands in a span.
import { AbstractCursor, AggregationCursor, Collection } from 'mongodb';
import { spanning, type Tracing } from '../tracing/index.ts';
import type { Watchdog } from './watchdog.ts';

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
