// A batcher joins questions that come close together into one query: the database, or the disk, takes hardly longer for
// many questions than for one. No caller gets the answer to a query that began before that caller asked.
import { setTimeout as wait } from 'node:timers/promises';

/** Delays `work`, which is a query, at least until this function has returned: further callers can join the query until then. */
type Limit = <T>(work: () => Promise<T>) => Promise<T>;

const whenTheLoopTurns: Limit = async (work) => {
  await new Promise((resolve) => setImmediate(resolve));
  return work();
};

export interface OneByOneOptions {
  /** How long a query waits at most for the end of the previous query, which may never end. */
  patienceMs?: number;
  /** A delay before each query, in which further callers can join the query. */
  pause?: () => Promise<unknown>;
}

/** Lets one query run at a time. Callers that come while a query runs share the next query. */
export function oneByOne({ patienceMs, pause }: OneByOneOptions = {}): Limit {
  let before: Promise<void> | undefined;
  const longEnough = (): Promise<void>[] =>
    patienceMs === undefined ? [] : [wait(patienceMs, undefined, { ref: false })];
  return async (work) => {
    await (before && Promise.race([before, ...longEnough()]));
    const asked = pause === undefined ? work() : pause().then(work);
    const forget = (): void => {
      if (before === ended) before = undefined;
    };
    const ended = asked.then(forget, forget);
    before = ended;
    return asked;
  };
}

/** `askAll` returns one answer for each question, in the same order; `undefined` means "missing". */
export function openBatcher<One, Answer extends object | number | null>(
  askAll: (all: readonly One[]) => Promise<readonly Answer[]>,
  countMax: number,
  limit: Limit = whenTheLoopTurns,
): (one: One) => Promise<Answer> {
  interface Batch {
    all: One[];
    answers: Promise<readonly Answer[]>;
  }
  let open: Batch | undefined;

  const begin = (): Batch => {
    const all: One[] = [];
    const answers = limit(() => {
      // A later caller may know of a change that this query misses, so later questions go into the next query.
      if (open === batch) open = undefined;
      return askAll(all);
    });
    const batch = { all, answers };
    return batch;
  };

  return async (one) => {
    if (open === undefined || open.all.length >= countMax) open = begin();
    const { all, answers } = open;
    const index = all.push(one) - 1;
    const answer = (await answers)[index];
    if (answer === undefined)
      throw new Error(`a batched query gave no answer to question ${index} of ${all.length}`);
    return answer;
  };
}

/** Callers that come before a run of `work` begins share the run and its outcome. */
export function shareWork<T>(work: () => Promise<T>): () => Promise<T> {
  const ask = openBatcher<undefined, { outcome: T }>(
    async (all) => {
      const outcome = await work();
      return all.map(() => ({ outcome }));
    },
    Infinity,
    oneByOne(),
  );
  return async () => (await ask(undefined)).outcome;
}
