// The monitoring of nats-server (`NATS_MONITOR_URL`), which knows settings and limits that JetStream does not tell.
import http from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';

interface JetStreamFacts {
  config?: { sync_always?: boolean; max_storage?: number };
  /** Bytes of all streams of the server. */
  storage?: number;
}

export async function askMonitor(monitorUrl: string, timeoutMs: number): Promise<JetStreamFacts> {
  const answer = await readMonitor(new URL('/jsz?config=1', monitorUrl), timeoutMs);
  const facts: JetStreamFacts = JSON.parse(answer.text);
  return facts;
}

/** Without `fetch`, whose first call would load Node's undici: a tenth of the processor time of a start. */
export function readMonitor(
  url: URL,
  timeoutMs: number,
): Promise<{ status: number | undefined; text: string }> {
  const { get } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    get(url, { signal: AbortSignal.timeout(timeoutMs), agent: false }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode, text: body }), reject);
    }).on('error', reject);
  });
}
