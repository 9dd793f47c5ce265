// Many small questions of one moment as one large one: whatever is asked before the event loop turns goes
// together, because the database, or the disk, takes hardly longer for many than for one.

/** `askAll` answers in the order in which it was asked. No answer is undefined, so that a missing one is noticed. */
export function askInRounds<One, Answer extends object | number | null>(
  askAll: (all: readonly One[]) => Promise<readonly Answer[]>,
  countMax: number,
): (one: One) => Promise<Answer> {
  interface Round {
    all: One[];
    answers: Promise<readonly Answer[]>;
  }
  let open: Round | undefined;

  const begin = (): Round => {
    const all: One[] = [];
    const answers = (async () => {
      await new Promise((resolve) => setImmediate(resolve));
      if (open?.all === all) open = undefined;
      return askAll(all);
    })();
    return { all, answers };
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
