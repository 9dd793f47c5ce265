// The result of a storm, for the person at the terminal.
import type { Verdict } from './check/verify.ts';
import { violationClasses } from './check/violations.ts';

export function describe({ figures, tallies }: Verdict): string {
  const width = Math.max(...figures.lines.map(([what]) => what.length));
  const found = [...tallies].map(([name, { count, examples }]) =>
    [
      `\n${count} × ${name}: ${violationClasses[name]}`,
      ...examples.flatMap(({ what, timeline }) => [`  ${what}`, ...timeline.map((line) => `      ${line}`)]),
    ].join('\n'),
  );
  const count = countOf({ tallies });
  return [
    '',
    ...figures.lines.map(([what, text]) => `${what.padEnd(width)}  ${text}`),
    ...found,
    '',
    count === 0 ? 'violations: 0' : `violations: ${count}, in ${tallies.size} classes`,
    '',
  ].join('\n');
}

export const countOf = ({ tallies }: Pick<Verdict, 'tallies'>): number =>
  [...tallies.values()].reduce((sum, { count }) => sum + count, 0);
