// A batcher joins questions that come close together into one query: the database, or the disk, takes hardly longer for
// many questions than for one. No caller gets the answer to a query that began before that caller asked.
import { setTimeout as wait } from 'node:timers/promises';

/** Decides when `work` begins: always after the `Limit` has returned, so that further callers can join the query. */
type Limit = <T>(work: () => Promise<T>) => Promise<T>;

const whenTheLoopTurns: Limit = async (work) => {
  await new Promise((resolve) => setImmediate(resolve));
  return work();
};

export interface OneByOneOptions {
  /** How long a question waits at most for the answer to the question before, which may never come. */
  patienceMs?: number;
  /** A delay before each question, in which further callers can join the question. */
  pause?: () => Promise<unknown>;
}

/** Lets one question run at a time. Callers that come while a question runs share the next question. */
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
      // A later caller may know of a change that these answers miss, so later questions go into the next batch.
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

/** Callers that ask for the outcome of `work` before a run of it begins share that run. */
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
