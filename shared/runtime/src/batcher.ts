// A batcher: many small questions as one large one. Those that come before it is their turn go together, because the database,
// or the disk, takes hardly longer for many than for one. None gets an answer to a question that was asked before it came.
import { setTimeout as wait } from 'node:timers/promises';

/** Begins the work when its turn comes, and never before this function has returned. */
type Limit = <T>(work: () => Promise<T>) => Promise<T>;

const whenTheLoopTurns: Limit = async (work) => {
  await new Promise((resolve) => setImmediate(resolve));
  return work();
};

export interface OneByOneOptions {
  /** For so long at most a question waits for the answer of the one before, which may not come. */
  patienceMs?: number;
  /** Is waited for before each question: what comes meanwhile goes with it. */
  pause?: () => Promise<unknown>;
}

/**
 * A question is asked at once where none is under way. Those that come meanwhile are the next one, which is asked when that has
 * its answer.
 */
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

/** `askAll` answers in the order in which it was asked. No answer is undefined, so that a missing one is noticed. */
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
      // What is asked from here on may know of something that these answers miss, and goes into the next batch.
      if (open === batch) open = undefined;
      return askAll(all);
    });
    const batch = { all, answers };
    return batch;
  };

  return async (one) => {
    if (open === undefined || open.all.length >= countMax) open = begin();
    const { all, answers } = open;
    const place = all.push(one) - 1;
    const answer = (await answers)[place];
    if (answer === undefined) throw new Error(`${all.length} were asked, and number ${place} got no answer`);
    return answer;
  };
}

/** Work whose outcome is asked for by several at once is done once for all that asked before it began. */
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
