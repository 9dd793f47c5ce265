// Reads a stream in order, without a consumer: the reader keeps its own offset. nats-server publishes each message again once the
// message is stored (`republish`), with its sequence. Sequences have no holes, so the reader knows what it lacks, and reads that
// from the stream (stored-messages.ts):
//
//   the next sequence comes       the reader hands the message on
//   a higher sequence comes       messages were lost on their way, or more of them came than the reader keeps
//   no message comes for 1 s      the reader asks where the stream ends: the last messages may be lost, and a stream of an
//                                 earlier release is not republished
//
// So a login needs no permission to create consumers, with which it could make nats-server publish to any subject.
import { setTimeout as wait } from 'node:timers/promises';
import type { Msg } from '@nats-io/nats-core';
import type { StoredMessages } from './stored-messages.ts';
import type { Connection } from './connection.ts';
import { traceparentIn, type FollowedMessage } from './message.ts';
import { codes, isRefusedWith } from './nats-refusals.ts';

export interface FollowOptions {
  /** The subjects of all messages of the stream, under which nats-server publishes them again. */
  subject: string;
  /** Whether the reader wants messages of this subject. */
  isMeant: (subject: string) => boolean;
  /** The first sequence that the reader lacks; called at the start, and again after an error or a reconnect. */
  from: () => Promise<number>;
  /** How many messages may wait for `onMessage`. */
  ahead: number;
  /** The reader takes the next message once the returned promise is settled. */
  onMessage(message: FollowedMessage): void | Promise<void>;
  /** Creates the stream again if the server has lost it. */
  ensure: () => Promise<void>;
}

export interface Reading extends AsyncDisposable {
  /** For how long reading has failed; 0 after each success, even if the stream has no new messages. */
  readonly failingForMs: number;
}

const quietMs = 1_000;
/** A new leader of the stream may lack the last messages for a moment. After five reads without them they count as removed. */
const endLooksMax = 5;
const endLookMs = 200;
const aheadBytesMax = 8 * 1024 * 1024;
const againMs = 250;
const failingLineMs = 5_000;

/** Reads until disposed, and retries after each error. */
export function follow(
  connection: Connection,
  stored: Pick<StoredMessages, 'readStream' | 'streamFacts'>,
  stream: string,
  options: FollowOptions,
): Reading {
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));
  const failing = openFailing(connection, stream);

  const readOn = async (live: Live): Promise<void> => {
    let next = await options.from();
    const hand = async (message: FollowedMessage): Promise<void> => {
      failing.over();
      next = message.sequence + 1;
      if (options.isMeant(message.subject)) await options.onMessage(message);
    };
    let madeAtMs: number | undefined;
    /** Passes the stored messages from the sequence `next` on to the reader. */
    const catchUp = async (): Promise<void> => {
      const { madeAt, lastSequence } = await stored.streamFacts(stream);
      // While the connection was down, the stream may have been restored from a backup: `from` must be called again.
      if (live.isCut) return;
      madeAtMs ??= madeAt.getTime();
      if (madeAt.getTime() !== madeAtMs || lastSequence < next - 1)
        throw new Error(`the stream ${stream} was created again`);
      for (let looks = 0; looks < endLooksMax; looks += 1) {
        if (next > lastSequence) break;
        if (looks > 0) await wait(endLookMs);
        const reading = { subject: options.subject, from: { sequence: next }, exact: true };
        for await (const message of stored.readStream(stream, reading)) {
          if (stop.signal.aborted || live.isCut) return;
          if (message.sequence >= next) await hand(message);
        }
      }
      next = Math.max(next, lastSequence + 1);
      failing.over();
    };
    await catchUp();
    while (!stop.signal.aborted && !live.isCut) {
      const message = live.after(next);
      if (message?.sequence === next) await hand(message);
      else if (message === undefined && !live.hasLost && (await live.comes(quietMs))) continue;
      else if (!stop.signal.aborted) {
        live.forget();
        await catchUp();
      }
    }
  };

  const readForEver = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        using live = openLive(connection, options, stop.signal);
        await readOn(live);
      } catch (error) {
        if (stop.signal.aborted) return;
        failing.note(error);
        // The signal ends this wait: a `Promise.race` with `stopped` would stay in memory until the reader stops.
        await wait(againMs, undefined, { signal: stop.signal }).catch(() => undefined);
        // The next round of the loop reads the stream from `from` on.
        if (isRefusedWith(error, codes.streamNotFound))
          await Promise.race([ensured(connection, stream, options), stopped]);
      }
    }
  };
  const reading = readForEver();

  return {
    get failingForMs() {
      return failing.forMs;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await reading;
    },
  };
}

type Live = ReturnType<typeof openLive>;

/** The messages that nats-server publishes again, until the reader takes them. */
function openLive(connection: Connection, { subject, ahead }: FollowOptions, signal: AbortSignal) {
  let waiting: FollowedMessage[] = [];
  let bytes = 0;
  let hasLost = false;
  let isCut = false;
  let coming: ((comes: boolean) => void) | undefined;

  const clear = (): void => {
    [waiting, bytes] = [[], 0];
  };
  const wake = (comes: boolean): void => {
    coming?.(comes);
    coming = undefined;
  };
  using listening = new DisposableStack();
  listening.use(
    connection.listen(subject, (message) => {
      const followed = readRepublished(message);
      if (followed === undefined) return;
      bytes += followed.body.length;
      waiting.push(followed);
      if (waiting.length > ahead || bytes > aheadBytesMax) {
        clear();
        hasLost = true;
      }
      wake(true);
    }),
  );
  // After a reconnect the reader begins again: it may have lost messages, and a refused subscription may be allowed now.
  const cut = (): void => {
    isCut = true;
    wake(false);
  };
  listening.use(connection.onReconnect(cut));
  const ended = (): void => wake(false);
  signal.addEventListener('abort', ended);
  listening.defer(() => signal.removeEventListener('abort', ended));
  const open = listening.move();
  return {
    /** The first message that waits and whose sequence is `next` or higher. */
    after(next: number): FollowedMessage | undefined {
      for (let [first] = waiting; first !== undefined; [first] = waiting) {
        if (first.sequence >= next) return first;
        bytes -= first.body.length;
        waiting.shift();
      }
      return undefined;
    },
    get hasLost(): boolean {
      return hasLost;
    },
    /** Whether the connection was down, so that the reader must begin again. */
    get isCut(): boolean {
      return isCut;
    },
    /** Drops the messages that wait. */
    forget(): void {
      hasLost = false;
      clear();
    },
    /** Resolves with true when a message comes; with false after `withinMs` and after a reconnect. */
    async comes(withinMs: number): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      coming = resolve;
      const timer = setTimeout(() => wake(false), withinMs);
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
      }
    },
    [Symbol.dispose]: () => open.dispose(),
  };
}

function readRepublished({ subject, headers, data }: Msg): FollowedMessage | undefined {
  const sequence = Number(headers?.get('Nats-Sequence') ?? '');
  if (!Number.isSafeInteger(sequence) || sequence < 1) return undefined;
  const storedAt = new Date(headers?.get('Nats-Time-Stamp') ?? '');
  return { subject, sequence, storedAt, traceparent: traceparentIn(headers), body: data };
}

/** Since when reading fails, with a log line every 5 s at most. */
function openFailing({ log }: Connection, stream: string) {
  let since: number | undefined;
  let saidAt = -Infinity;
  return {
    get forMs(): number {
      return since === undefined ? 0 : performance.now() - since;
    },
    over(): void {
      since = undefined;
    },
    note(failure: unknown): void {
      const now = performance.now();
      since ??= now;
      if (now - saidAt < failingLineMs) return;
      saidAt = now;
      log.warn({ err: failure, stream }, 'reading a stream failed, trying again');
    },
  };
}

/** Never rejects: a cluster that is short of servers refuses the stream for now, and the reader tries again. */
const ensured = ({ log }: Connection, stream: string, options: FollowOptions): Promise<void> =>
  options.ensure().catch((error: unknown) => {
    log.error({ err: error, stream }, 'a lost stream could not be created, trying again');
  });
