// The first connection to NATS, for which a process waits as long as it takes, and the lines that say what it waits for,
// then and whenever the connection is lost.
import { setTimeout as wait } from 'node:timers/promises';
import { ConnectionError, TimeoutError, type NatsConnection } from '@nats-io/nats-core';
import type { NatsOptions } from '../config/index.ts';
import type { Log } from '../log.ts';
import { retry } from '../retry.ts';
import { entranceOf } from './login.ts';
import { dialledLongestAgo } from './nats-client/next-server.ts';
import { connectTelling } from './nats-client/transport.ts';

const retryMs = 250;
/** A server that stands still is noticed after three of these, so that a caller that waits is told within 3 s. */
const pingIntervalMs = 800;
const connectMs = 2_000;
const waitingLineMs = 5_000;

export interface ConnectOptions extends NatsOptions {
  name: string;
  inboxPrefix: string;
  log: Log;
  /** Ends the wait. */
  signal?: AbortSignal | undefined;
}

export interface Connected {
  nats: NatsConnection;
  waits: Waits;
}

/** Resolves once a nats-server lets this process in. */
export async function connectPatiently({
  name,
  inboxPrefix,
  log,
  signal,
  ...options
}: ConnectOptions): Promise<Connected> {
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
      // A server may refuse for a while those whom it knows again later.
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
        // To the client it is a time-out as well when the server ends a connection instead of answering.
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

export interface Waits {
  begin(): void;
  /** Why it has to go on. */
  because(reason: unknown): void;
  end(): void;
}

function openWaits(servers: readonly string[], log: Log): Waits {
  const said = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let why: unknown;
  const say = (): void => log.warn({ servers, err: why }, 'waiting for nats');
  return {
    begin() {
      timer ??= setInterval(say, waitingLineMs);
    },
    because(reason) {
      why = reason;
      const words = wordsOf(reason);
      if (timer === undefined || !isRefusal(reason) || said.has(words)) return;
      said.add(words);
      say();
    },
    end() {
      clearInterval(timer);
      timer = undefined;
      why = undefined;
      said.clear();
    },
  };
}

const wordsOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason));

/** A server that is there and refuses this process is not about to come up. */
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
