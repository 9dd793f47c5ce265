// Puts the watchdog under everything that is done with a collection, so that no caller has to think of it.
import { AbstractCursor, Collection, UnorderedBulkOperation } from 'mongodb';
import type { Operate } from './spans.ts';

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
