// The ways that integrations have for themselves, each read by a consumer of its own for as long as there is something on
// it: so none of them waits behind another. Every replica that reads their partition reads each of them, up to so many at
// once; where there are more, they take turns.
import type { Unsettled } from '../streams/ways.ts';
import { openLooks } from '../tools/looks.ts';
import { openBacklogReader, type BacklogReaderOptions } from './backlog-reader.ts';

export interface Backlogs extends AsyncDisposable {
  /** Something came on one of the ways. */
  look(): void;
  /** How many are read. */
  readonly count: number;
}

export interface BacklogsOptions extends BacklogReaderOptions {
  countUnsettled: () => Promise<Unsettled>;
  /** Whether this replica reads the partition of the integration. */
  isMine: (integration: string) => boolean;
  readersMax?: number;
  turnMs?: number;
}

const lookMs = 250;
/** An integration that has bursts has several. */
const lingerMs = 5_000;

export function openBacklogs(options: BacklogsOptions): Backlogs {
  const { countUnsettled, isMine, log, readersMax = 100, turnMs = 2_000 } = options;
  const readings = openReadings(options);
  const closing = new AbortController();
  /** The integration whose turn began last; the next one in the order of names follows. */
  let last = '';

  const lookOnce = async (): Promise<void> => {
    const { backlog } = await countUnsettled();
    const now = performance.now();
    for (const [integration, reading] of readings.all) {
      reading.emptySince = backlog.has(integration) ? undefined : (reading.emptySince ?? now);
      const isOver = reading.emptySince !== undefined && reading.emptySince <= now - lingerMs;
      if (isOver || !isMine(integration)) readings.end(integration);
    }
    const unread = [...backlog.keys()]
      .filter((integration) => !readings.all.has(integration) && isMine(integration))
      .toSorted();
    const inTurn = [...unread.filter((name) => name > last), ...unread.filter((name) => name <= last)];
    for (const integration of inTurn) {
      if (closing.signal.aborted || !makeRoom(now)) return;
      last = integration;
      readings.begin(integration);
    }
  };

  /** The one whose turn has lasted longest is read again when all others had theirs. */
  const makeRoom = (now: number): boolean => {
    if (readings.all.size < readersMax) return true;
    const [longest] = readings.all;
    const empty = readings.all.entries().find(([, { emptySince }]) => emptySince !== undefined);
    const next = empty ?? (longest !== undefined && longest[1].since <= now - turnMs ? longest : undefined);
    if (next === undefined) return false;
    readings.end(next[0]);
    return true;
  };

  const looks = openLooks(lookOnce, { what: 'backlogs', everyMs: lookMs, log });

  return {
    look: looks.look,
    get count() {
      return readings.all.size;
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await looks[Symbol.asyncDispose]();
      await readings.endAll();
    },
  };
}

interface Reading {
  readonly reader: AsyncDisposable;
  readonly since: number;
  /** Since when the way is empty. */
  emptySince: number | undefined;
}

/** The ways that this replica reads now. */
interface Readings {
  /** By integration, the longest turn first. */
  readonly all: ReadonlyMap<string, Reading>;
  begin(integration: string): void;
  /** Stops in the background. */
  end(integration: string): void;
  /** Resolves when every reader has stopped. */
  endAll(): Promise<void>;
}

function openReadings(options: BacklogReaderOptions): Readings {
  const all = new Map<string, Reading>();
  const ends = new Set<Promise<void>>();
  const end = (integration: string): void => {
    const reading = all.get(integration);
    if (reading === undefined) return;
    all.delete(integration);
    const ended = Promise.resolve(reading.reader[Symbol.asyncDispose]()).finally(() => ends.delete(ended));
    ends.add(ended);
  };
  return {
    all,
    begin(integration) {
      const onFailed = (): void => {
        if (all.get(integration) === reading) all.delete(integration);
      };
      const reader = openBacklogReader(integration, options, onFailed);
      const reading: Reading = { reader, since: performance.now(), emptySince: undefined };
      all.set(integration, reading);
    },
    end,
    async endAll() {
      for (const integration of all.keys()) end(integration);
      await Promise.all(ends);
    },
  };
}
