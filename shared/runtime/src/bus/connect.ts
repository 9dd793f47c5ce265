// The first connection to NATS, for which a process waits without a limit, and the log lines that say why a process waits.
import { setTimeout as wait } from 'node:timers/promises';
import { ConnectionError, TimeoutError, type NatsConnection } from '@nats-io/nats-core';
import type { NatsOptions } from '../config/index.ts';
import type { Log } from '../log.ts';
import { retry } from '../retry.ts';
import { entranceOf } from './login.ts';
import { dialledLongestAgo } from './nats-client/next-server.ts';
import { connectTelling } from './nats-client/transport.ts';

const retryMs = 250;
/** The client notices a frozen server after three ping intervals, so that a waiting caller is answered within 3 s. */
const pingIntervalMs = 800;
const connectMs = 2_000;
const waitingLineMs = 5_000;

export interface ConnectOptions extends NatsOptions {
  name: string;
  inboxPrefix: string;
  log: Log;
  /** Aborts the wait for NATS. */
  signal?: AbortSignal | undefined;
}

/** Resolves once a nats-server lets this process in. */
export async function connectPatiently({ name, inboxPrefix, log, signal, ...options }: ConnectOptions) {
  const entrance = entranceOf(options);
  const waits = openWaits(entrance.servers, log);
  let isTold = false;
  const connect = (): Promise<NatsConnection> => {
    isTold = false;
    return connectTelling({
      ...entrance,
      name,
      inboxPrefix,
      maxReconnectAttempts: -1,
      // A server may refuse a valid login for a while, so the client tries again.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: retryMs,
      reconnectJitter: retryMs,
      reconnectToServer: dialledLongestAgo,
      timeout: connectMs,
      pingInterval: pingIntervalMs,
      maxPingOut: 2,
      noAsyncTraces: true,
      onTrouble(error) {
        isTold = true;
        waits.because(error);
      },
    });
  };
  waits.begin();
  try {
    const nats = await retry(connect, {
      mayRetry(error) {
        // The client reports a time-out also if the server closed the connection. Then `onTrouble` has noted the real reason.
        if (!(isTold && error instanceof TimeoutError)) waits.because(error);
        return true;
      },
      pause: () => wait(retryMs * (1 + Math.random()), undefined, { signal }),
    });
    return { nats, waits };
  } finally {
    waits.end();
  }
}

function openWaits(servers: readonly string[], log: Log) {
  const said = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let why: unknown;
  const say = (): void => log.warn({ setting: 'NATS_URL', servers, err: why }, 'waiting for nats');
  return {
    begin(): void {
      timer ??= setInterval(say, waitingLineMs);
    },
    /** Notes why the last attempt to connect failed. */
    because(reason: unknown): void {
      why = reason;
      const words = wordsOf(reason);
      if (timer === undefined || !isRefusal(reason) || said.has(words)) return;
      said.add(words);
      say();
    },
    end(): void {
      clearInterval(timer);
      timer = undefined;
      why = undefined;
      said.clear();
    },
  };
}

const wordsOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason));

/** Whether a running server refuses this process, so that waiting alone does not help. */
function isRefusal(reason: unknown): boolean {
  if (reason instanceof TimeoutError) return false;
  if (reason instanceof ConnectionError && reason.message === 'connection refused') return false;
  const code = reason instanceof Error && 'code' in reason ? String(reason.code) : '';
  return !networkCodes.has(code);
}

const networkCodes: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
