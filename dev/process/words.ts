// The messages of this folder's commands to the person who runs them.

/** The message of an error, or of any other thrown value. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Reads an option that takes a whole number; throws with the allowed range. */
export function readCount(option: string, text: string, [least, most]: readonly [number, number]): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= least && count <= most) return count;
  throw new RangeError(`${option} takes a number from ${least} to ${most}, not "${text}"`);
}

/** Runs a command: --help prints its usage, and a thrown error is printed as `explainMisuse` words it. */
export async function runWithUsage(usage: string, run: () => Promise<void> | void): Promise<void> {
  try {
    if (process.argv.slice(2).some((arg) => arg === '--help' || arg === '-h')) process.stdout.write(usage);
    else await run();
  } catch (error) {
    process.stderr.write(explainMisuse(error, usage));
    process.exitCode = 1;
  }
}

/** The message of an error, followed by the usage if the options were wrong. */
export function explainMisuse(error: unknown, usage: string): string {
  const isMisuse =
    error instanceof RangeError ||
    (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'));
  return isMisuse ? `${messageOf(error)}\n${usage}` : `${messageOf(error)}\n`;
}
