// Polls /healthz of nats-server, if NATS_MONITOR_URL is set. A nats-server with a full disk keeps its connections and acknowledges
// nothing: only /healthz says why, and only a restart helps.
import type { Log } from './log.ts';
import { readMonitor } from './nats-monitor.ts';
import { openPeriodicCheck } from './periodic-check.ts';

const everyMs = 5_000;
const patienceMs = 1_000;

export function watchNatsHealth(monitorUrl: string | undefined, log: Log, pollMs = everyMs) {
  if (monitorUrl === undefined) return { notes: () => [], [Symbol.asyncDispose]: () => Promise.resolve() };
  const url = new URL('/healthz', monitorUrl);
  let cause: string | undefined;

  const check = async (): Promise<void> => {
    const found = await readHealth(url);
    if (found === undefined || found.cause === cause) return;
    cause = found.cause;
    if (cause === undefined) log.info('nats-server is healthy again');
    else log.error({ cause }, `nats-server is not healthy; ${remedyOf(cause)}`);
  };
  const checks = openPeriodicCheck(check, { what: 'nats-server', everyMs: pollMs, log });

  return {
    /** A sentence that every caller may read, while nats-server is not healthy; the log has the cause. */
    notes: () => (cause === undefined ? [] : [`NATS is not healthy; ${remedyOf(cause)}.`]),
    [Symbol.asyncDispose]: checks[Symbol.asyncDispose],
  };
}

const remedyOf = (cause: string): string =>
  /write error|no space left/.test(cause)
    ? 'its disk took no write: make room there, then restart that nats-server'
    : 'its /healthz and the logs of the services say why';

/** `cause` says why nats-server is not healthy. Resolves with undefined if its monitoring does not answer: nothing is known then. */
async function readHealth(url: URL): Promise<{ cause?: string } | undefined> {
  try {
    const { status, text } = await readMonitor(url, patienceMs);
    if (status !== 503) return {};
    const { error }: { error?: unknown } = JSON.parse(text);
    return typeof error === 'string' ? { cause: error } : {};
  } catch {
    return undefined;
  }
}
