// The ways that integrations have for themselves, each read by a consumer of its own for as long as there is
// something on it: so none of them waits behind another. Every replica reads each of them, up to so many at once;
// where there are more, they take turns.
import type { Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { backlogConsumer, deliverConsumer, deliveriesStream } from '../streams/streams.ts';
import type { Unsettled } from '../streams/ways.ts';

export interface Backlogs extends AsyncDisposable {
  /** Something came on one of the ways. */
  look(): void;
  /** How many are read. */
  readonly count: number;
}

export interface BacklogsOptions {
  bus: Pick<Bus, 'consume' | 'ensureConsumer' | 'consumerFacts' | 'streamFacts'>;
  countUnsettled: () => Promise<Unsettled>;
  /** While the promise that it returns is open, no further message of that integration is taken. */
  onMessage: (message: StreamMessage) => void | Promise<void>;
  /** Makes the stream again, should the server have lost it. */
  ensure: () => Promise<void>;
  log: Log;
  readersMax?: number;
  turnMs?: number;
}

const lookMs = 250;
/** An integration that has bursts has several. */
const lingerMs = 5_000;

interface Reading {
  readonly reader: AsyncDisposable;
  readonly since: number;
  /** Since when nothing was found there. */
  emptySince: number | undefined;
}

export function openBacklogs(options: BacklogsOptions): Backlogs {
  const { countUnsettled, log, readersMax = 100, turnMs = 2_000 } = options;
  const readings = new Map<string, Reading>();
  const ends = new Set<Promise<void>>();
  const closing = new AbortController();
  let looking: Promise<void> | undefined;
  let again = false;
  /** The last one whose turn began; its next in the order of names is next. */
  let last = '';

  const begin = (integration: string): void => {
    last = integration;
    const onFailed = (): void => {
      if (readings.get(integration) === reading) readings.delete(integration);
    };
    const reader = openReader(integration, options, onFailed);
    const reading: Reading = { reader, since: performance.now(), emptySince: undefined };
    readings.set(integration, reading);
  };

  const end = (integration: string, { reader }: Reading): void => {
    readings.delete(integration);
    const ended = Promise.resolve(reader[Symbol.asyncDispose]()).finally(() => ends.delete(ended));
    ends.add(ended);
  };

  const lookOnce = async (): Promise<void> => {
    const { backlog } = await countUnsettled();
    const now = performance.now();
    for (const [integration, reading] of readings) {
      reading.emptySince = backlog.has(integration) ? undefined : (reading.emptySince ?? now);
      if (reading.emptySince !== undefined && reading.emptySince <= now - lingerMs) end(integration, reading);
    }
    const unread = [...backlog.keys()].filter((integration) => !readings.has(integration)).toSorted();
    const inTurn = [...unread.filter((name) => name > last), ...unread.filter((name) => name <= last)];
    for (const integration of inTurn) {
      if (closing.signal.aborted || !makeRoom(now)) return;
      begin(integration);
    }
  };

  /** The one whose turn has lasted longest is read again when all others had theirs. */
  const makeRoom = (now: number): boolean => {
    if (readings.size < readersMax) return true;
    const [longest] = readings;
    const empty = readings.entries().find(([, { emptySince }]) => emptySince !== undefined);
    const next = empty ?? (longest !== undefined && longest[1].since <= now - turnMs ? longest : undefined);
    if (next === undefined) return false;
    end(...next);
    return true;
  };

  const lookOn = async (): Promise<void> => {
    do {
      again = false;
      try {
        await lookOnce();
      } catch (error) {
        log.debug({ err: error }, 'looking for backlogs failed, trying again');
      }
    } while (again && !closing.signal.aborted);
  };

  const look = (): void => {
    if (closing.signal.aborted) return;
    again = true;
    looking ??= lookOn().finally(() => (looking = undefined));
  };
  const timer = setInterval(look, lookMs);

  return {
    look,
    get count() {
      return readings.size;
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      clearInterval(timer);
      await looking;
      for (const [integration, reading] of readings) end(integration, reading);
      await Promise.all(ends);
    },
  };
}

const parcelsAhead = 2;
/** By then the shared way is taken to stand still, for reasons of others. */
const patienceMs = 2_000;
const pollMs = 20;

type ReaderOptions = Pick<BacklogsOptions, 'bus' | 'onMessage' | 'ensure' | 'log'>;

/** Reads one integration's way until it is disposed. */
function openReader(
  integration: string,
  { bus, onMessage, ensure, log }: ReaderOptions,
  onFailed: () => void,
): AsyncDisposable {
  const consumer = backlogConsumer(integration);
  const stop = new AbortController();
  const stopped = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()));

  // One that is to end waits for no room any more.
  const take = (message: StreamMessage): void | Promise<void> => {
    const room = onMessage(message);
    return room && Promise.race([room, stopped]);
  };

  const makeAgain = async (): Promise<void> => {
    await ensure();
    await bus.ensureConsumer(deliveriesStream, consumer);
  };

  const open = async (): Promise<AsyncDisposable | undefined> => {
    try {
      await sharedWayRead(bus, stop.signal);
      if (stop.signal.aborted) return undefined;
      await bus.ensureConsumer(deliveriesStream, consumer);
    } catch (error) {
      log.debug({ err: error, integration }, 'a backlog cannot be read yet, trying again');
      onFailed();
      return undefined;
    }
    const reading = { ahead: parcelsAhead, onMessage: take, ensure: makeAgain };
    return bus.consume(deliveriesStream, consumer.name, reading);
  };
  const opening = open();

  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await (await opening)?.[Symbol.asyncDispose]();
    },
  };
}

/** What the integration has there is older, and goes first. */
async function sharedWayRead(
  bus: Pick<Bus, 'consumerFacts' | 'streamFacts'>,
  signal: AbortSignal,
): Promise<void> {
  const { lastSequence } = await bus.streamFacts(deliveriesStream);
  for (let waitedMs = 0; waitedMs < patienceMs && !signal.aborted; waitedMs += pollMs) {
    const { handedOutThrough, pending } = await bus.consumerFacts(deliveriesStream, deliverConsumer.name);
    if (pending === 0 || handedOutThrough >= lastSequence) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
