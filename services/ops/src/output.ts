// The output of a command: findings on stdout, as text or as one JSON document, and progress on stderr.

/** The stdout and stderr of a command: those of the process, unless a test gives others. */
export interface Writers {
  stdout: Writer;
  stderr: Writer;
}
interface Writer {
  write(text: string): unknown;
  isTTY?: boolean;
}

export type Output = ReturnType<typeof openOutput>;

export function openOutput(isJson: boolean, { stdout, stderr }: Writers) {
  /** Writes a line of text; writes nothing with --json. */
  const say = (line = ''): void => {
    if (!isJson) stdout.write(`${line}\n`);
  };
  return {
    /** The stream for the log, whose lines come between the lines of `progress`. */
    stderr,
    say,
    /** Writes rows under their headings; writes nothing with --json. */
    table: (headings: readonly string[], rows: readonly Row[]): void =>
      tableOf(headings, rows).forEach((line) => say(line)),
    /** Writes the findings as JSON; writes nothing without --json. */
    give(findings: object): void {
      if (isJson) stdout.write(`${JSON.stringify(findings, inJson, 2)}\n`);
    },
    progress: (line: string): void => void stderr.write(`${line}\n`),
  };
}

/** The cells of a table row. Numbers are aligned right. */
export type Row = readonly (string | number)[];

/** Writes Infinity, which means "no limit", as null, because JSON has no Infinity. */
const inJson = (_key: string, value: unknown): unknown => (value === Infinity ? null : value);

function tableOf(headings: readonly string[], rows: readonly Row[]): string[] {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? numberInWords(cell) : cell)));
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...texts.map((row) => row[column]?.length ?? 0)),
  );
  const isNumber = headings.map((_, column) => rows.some((row) => typeof row[column] === 'number'));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return isNumber[column] === true ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [line(headings), ...texts.map(line)];
}

export const numberInWords = (count: number): string => count.toLocaleString('en-US');

const units = ['B', 'KB', 'MB', 'GB', 'TB'];

export function bytesInWords(bytes: number): string {
  if (bytes === Infinity) return 'no limit';
  let [value, unit] = [bytes, 0];
  while (value >= 1_000 && unit < units.length - 1) [value, unit] = [value / 1_000, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

const spans = [
  ['d', 24 * 60 * 60_000],
  ['h', 60 * 60_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

export function spanInWords(ms: number): string {
  if (ms === Infinity) return 'for ever';
  const [unit, size] = spans.find(([, one]) => ms >= one) ?? ['s', 1_000];
  return `${Math.max(0, Math.floor(ms / size))} ${unit}`;
}
