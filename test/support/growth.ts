// How a rule's processor time grows with the length of its text.

export type Rule = (text: string) => unknown;

const manyTimes = 100;
const shortCharacters = 60;
/** A rule of linear time takes as long for one long text as for a hundred short ones, one of quadratic time a hundred times. */
export const growthMax = 10;
const tries = 3;
/** So that a linear rule takes many times what the clock can tell. */
const noiseMicroseconds = 500;
const linearRepeats = 10;

const processorTime = (): number => {
  const { user, system } = process.threadCpuUsage();
  return user + system;
};

/** In microseconds of the processor, so that other work on the machine does not count; of several tries the least. */
function leastTime(work: () => void, repeats: number): number {
  let least = Infinity;
  for (let turn = 0; turn < tries && least > noiseMicroseconds; turn += 1) {
    const before = processorTime();
    for (let time = 0; time < repeats; time += 1) work();
    least = Math.min(least, processorTime() - before);
  }
  // Less than that is as much the clock's and the compiler's as the rule's; quadratic time is hundreds of times more.
  return Math.max(least, noiseMicroseconds);
}

const longOf = (unit: string, end: string): string =>
  unit.repeat(Math.ceil(shortCharacters / unit.length) * manyTimes) + end;

/** Whether one long text takes the rule less time than any growth beyond `growthMax` would. */
export const isQuick = (rule: Rule, unit: string, end: string): boolean => {
  const text = longOf(unit, end);
  return leastTime(() => rule(text), 1) < noiseMicroseconds * growthMax;
};

export function growthOf(rule: Rule, unit: string, end: string, repeats = linearRepeats): number {
  const short = unit.repeat(Math.ceil(shortCharacters / unit.length)) + end;
  const long = longOf(unit, end);
  const many = leastTime(() => {
    for (let time = 0; time < manyTimes; time += 1) rule(short);
  }, repeats);
  return leastTime(() => rule(long), repeats) / many;
}
