// A world alone writes to its database. So MongoDB answers a query as before until the next write to the collection: half of the time of a
// world was such queries.
import type { Store } from '@integration-sync/runtime/store';
import { chained } from './gates.ts';

const reads = new Set(['findOne', 'distinct', 'countDocuments']);

type Call = (...given: unknown[]) => unknown;
type Answers = Map<string, unknown>;

/** The store, whose repeated queries are answered from memory. */
export function rememberReads(store: Store): Store {
  const byCollection = new Map<string, Answers>();
  return new Proxy(store, {
    get(target, key) {
      if (key !== 'collection') return Reflect.get(target, key) as unknown;
      return (name: string) =>
        remembering(
          target.collection(name),
          byCollection.getOrInsertComputed(name, () => new Map()),
        );
    },
  });
}

const remembering = (collection: object, answers: Answers): object =>
  new Proxy(collection, {
    get(real, method) {
      const value: unknown = Reflect.get(real, method);
      if (typeof value !== 'function') return value;
      const call: Call = (...given) => Reflect.apply(value, real, given);
      const name = String(method);
      if (name === 'find')
        return (...given: unknown[]) => cursorOf(() => Object(call(...given)), [given], answers);
      if (reads.has(name))
        return (...given: unknown[]) => answer(answers, [name, given], () => call(...given));
      return async (...given: unknown[]) => {
        try {
          return await call(...given);
        } finally {
          answers.clear();
        }
      };
    },
  });

/** A cursor that MongoDB sees only if the query is not known. */
function cursorOf(open: () => object, query: readonly unknown[], answers: Answers): object {
  const chain =
    (method: string) =>
    (...given: unknown[]): object =>
      cursorOf(() => called(open(), method, given), [...query, method, given], answers);
  return {
    ...Object.fromEntries(chained.map((method) => [method, chain(method)])),
    toArray: () => answer(answers, query, () => called(open(), 'toArray', [])),
  };
}

const called = (on: object, method: string, given: unknown[]): object =>
  Object(Reflect.apply(Reflect.get(on, method) as Call, on, given));

async function answer(answers: Answers, query: readonly unknown[], ask: () => unknown): Promise<unknown> {
  const text = JSON.stringify(query);
  if (!answers.has(text)) answers.set(text, await ask());
  return structuredClone(answers.get(text));
}
