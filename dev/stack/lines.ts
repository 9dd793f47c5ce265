// Which lines of a service the terminal of `npm start` shows, and how. Pure.
export interface LogLine {
  /** The line as the terminal shows it. */
  text: string;
  isTrouble: boolean;
  metrics?: string;
}

/** The fields of a line that a person sees beside its message; the log file has all fields. */
const telling = ['method', 'route', 'subject', 'stream', 'status', 'code'];
const interesting = /"level":"(?:warn|error|fatal)"|"metrics":"/;
const troubles = new Set(['warn', 'error', 'fatal']);

/** A line that is no log line means trouble: a wrong setting, or a crash. */
export function readLine(text: string): LogLine {
  // A service under load logs thousands of lines a second, of which the terminal shows hardly any.
  if (text.startsWith('{') && !interesting.test(text)) return { text, isTrouble: false };
  const fields = parse(text);
  if (fields === undefined) return { text, isTrouble: text.trim() !== '' };
  const { level, msg, metrics, err } = fields;
  const details = telling.map((name) => fields[name]).filter((value) => value !== undefined);
  const cause = typeof err === 'object' && err !== null && 'message' in err ? `: ${String(err.message)}` : '';
  return {
    text: `${[`${String(level)}:`, msg, ...details].join(' ')}${cause}`,
    isTrouble: typeof level === 'string' && troubles.has(level),
    ...(typeof metrics === 'string' ? { metrics } : {}),
  };
}

function parse(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** While an engine is away, a service logs a warning at every request: the terminal shows the same message once in a while. */
export function openDamper(
  quietMs: number,
  now: () => number = () => performance.now(),
): (words: string) => boolean {
  const lastSaid = new Map<string, number>();
  return (words) => {
    const time = now();
    const last = lastSaid.get(words);
    if (last !== undefined && time - last < quietMs) return false;
    // A bound on the remembered messages; a forgotten message may be shown again.
    if (lastSaid.size > 1_000) lastSaid.clear();
    lastSaid.set(words, time);
    return true;
  };
}
