// What nats-server says of its own health, where NATS_MONITOR_URL names its monitoring. A nats-server without room on its
// disk stays connected and acknowledges nothing; only /healthz says why, and only a restart ends it.
import type { Log } from './log.ts';
import { openPeriodicCheck } from './periodic-check.ts';

export interface NatsHealth extends AsyncDisposable {
  /** A sentence where nats-server is not healthy, for everybody to read; the log has the cause. */
  notes(): string[];
}

const everyMs = 5_000;
const patienceMs = 1_000;

export function watchNatsHealth(monitorUrl: string | undefined, log: Log, pollMs = everyMs): NatsHealth {
  if (monitorUrl === undefined) return { notes: () => [], [Symbol.asyncDispose]: () => Promise.resolve() };
  const url = new URL('/healthz', monitorUrl);
  const stopping = new AbortController();
  let cause: string | undefined;

  const check = async (): Promise<void> => {
    const found = await causeOf(url, stopping.signal);
    if (found === cause || stopping.signal.aborted) return;
    cause = found;
    if (cause === undefined) log.info('nats-server is healthy again');
    else log.error({ cause }, `nats-server is not healthy; ${remedyOf(cause)}`);
  };
  const checks = openPeriodicCheck(check, { what: 'nats-server', everyMs: pollMs, log });

  return {
    notes: () => (cause === undefined ? [] : [`NATS is not healthy; ${remedyOf(cause)}.`]),
    [Symbol.asyncDispose]() {
      stopping.abort();
      return checks[Symbol.asyncDispose]();
    },
  };
}

const remedyOf = (cause: string): string =>
  /write error|no space left/.test(cause)
    ? 'its disk took no write: make room there, then restart that nats-server'
    : 'its /healthz and the logs of the services say why';

/** Undefined where nats-server is healthy, and where nothing is known: its monitoring does not answer. */
async function causeOf(url: URL, signal: AbortSignal): Promise<string | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]) });
    const text = await answer.text();
    if (answer.status !== 503) return undefined;
    const { error }: { error?: unknown } = JSON.parse(text);
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
