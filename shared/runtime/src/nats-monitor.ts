// The monitoring of nats-server (`NATS_MONITOR_URL`), which knows settings and limits that JetStream does not tell.

interface JetStreamFacts {
  config?: { sync_always?: boolean; max_storage?: number };
  /** Bytes of all streams of the server. */
  storage?: number;
}

export async function askMonitor(monitorUrl: string, timeoutMs: number): Promise<JetStreamFacts> {
  const answer = await fetch(new URL('/jsz?config=1', monitorUrl), {
    signal: AbortSignal.timeout(timeoutMs),
  });
  const facts: JetStreamFacts = JSON.parse(await answer.text());
  return facts;
}
