// Many small questions as one large one: whatever is asked before it is its turn goes together, because the
// database, or the disk, takes hardly longer for many than for one.
import type { Turns } from './turns.ts';

const whenTheLoopTurns: Turns = async (work) => {
  await new Promise((resolve) => setImmediate(resolve));
  return work();
};

/** `askAll` answers in the order in which it was asked. No answer is undefined, so that a missing one is noticed. */
export function askInRounds<One, Answer extends object | number | null>(
  askAll: (all: readonly One[]) => Promise<readonly Answer[]>,
  countMax: number,
  inTurn: Turns = whenTheLoopTurns,
): (one: One) => Promise<Answer> {
  interface Round {
    all: One[];
    answers: Promise<readonly Answer[]>;
  }
  let open: Round | undefined;

  /** What is asked from here on may know of something that these answers miss, and goes into the next round. */
  const close = (round: Round): Promise<readonly Answer[]> => {
    if (open === round) open = undefined;
    return askAll(round.all);
  };

  const begin = (): Round => {
    const round: Round = { all: [], answers: inTurn(() => close(round)) };
    return round;
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
