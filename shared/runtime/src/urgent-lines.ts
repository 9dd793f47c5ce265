// The newest warnings and errors of this process, for `GET /log` on the port of the metrics: in a rotated log, a flood of other
// lines drops errors.

/** The limit of each level (warn, error, fatal). */
const bytesMax = 256 * 1_024;

interface Kept {
  /** How each line of the level begins. */
  head: string;
  /** Each log line has a number, by which the lines of all log levels are sorted. */
  lines: { number: number; line: string }[];
  bytes: number;
}

const kept = ['warn', 'error', 'fatal'].map((level): Kept => ({
  head: `{"level":"${level}"`,
  lines: [],
  bytes: 0,
}));
let count = 0;

export function keepUrgent(line: string): void {
  const of = kept.find(({ head }) => line.startsWith(head));
  if (of === undefined) return;
  of.lines.push({ number: (count += 1), line });
  of.bytes += line.length;
  while (of.bytes > bytesMax) of.bytes -= of.lines.shift()?.line.length ?? of.bytes;
}

export const urgentLines = (): string =>
  kept
    .flatMap(({ lines }) => lines)
    .toSorted((one, other) => one.number - other.number)
    .map(({ line }) => line)
    .join('');
