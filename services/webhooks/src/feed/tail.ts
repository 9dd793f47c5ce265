// The newest part of the log of one integration for the feed: a window (log/window.ts) that all callers of the integration share.
// Any replica may have a tail, not only the owner of the partition.
//
//   no caller waits   a request asks where the log ends, and loads missing event batches in chunks
//   a caller waits    each announcement, a message on the subject of event batches, causes a read of the rest of the log
//   the last leaves   the replica stays subscribed for a minute, or until the next announcement. A caller that returns
//                     with the end of the log as its place waits without a request to nats-server.
//
// An announcement may come before nats-server has stored the event batch, so the tail reads the log repeatedly for a second until
// it finds the batch. If an announcement gets lost, a periodic check finds its batch.
import { setTimeout as wait } from 'node:timers/promises';
import {
  eventBatchesStream,
  Failure,
  limits,
  publishedBatches,
  readStoredBatchSubject,
  storedBatches,
} from '@integration-sync/contracts';
import { shareWork } from '@integration-sync/runtime/batcher';
import type { Bus, StoredMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { readBatch, type LoggedBatch } from '../log/logged-batch.ts';
import type { LogStream, LogStreamFacts } from '../log/stream.ts';
import { Windows, type Window } from '../log/window.ts';
import type { Place } from './place.ts';

type TailBus = Pick<Bus, 'readStream' | 'listen'>;

/** The delays before repeated reads of the log for an announced event batch: a second in all. */
const lookDelaysMs = [2, 3, 5, 10, 20, 40, 80, 160, 320, 360];
/** The bound on the bytes of a chunk, because the read of a chunk delays deliveries of this process. */
const readBytesMax = 256 * 1024;
const idleTailsMax = limits.feedWaitersMax;
/** How long an unused tail is kept. If callers wait 25 s and choose one of two replicas, seven of eight find their tail again. */
const idleForMs = 60_000;
/** How old the known facts of the log may be for use. While callers wait, a check asks for new facts once a second. */
const factsKnownForMs = 2_000;

export type Tails = ReturnType<typeof openTails>;

export function openTails(bus: TailBus, stream: Pick<LogStream, 'lookOnce' | 'saw'>, log: Log) {
  const read = (stored: StoredMessage): LoggedBatch | undefined => readBatch(stored, log);
  const windows = new Windows({ bus, read, readBytesMax });
  const used = new Map<string, SharedTail>();
  /** Tails without callers, in the order in which their last callers left. */
  const idle = new Map<string, SharedTail>();
  const dropIdle = (): void => {
    const sinceMs = performance.now() - idleForMs;
    for (const [integration, tail] of idle) {
      if (idle.size <= idleTailsMax && tail.idleSinceMs > sinceMs) return;
      idle.delete(integration);
      tail.close();
    }
  };
  const facts = openFacts(stream);
  const parts = { bus, stream, windows, read, facts };

  return {
    use(integration: string): Tail {
      const tail = used.get(integration) ?? idle.get(integration) ?? new SharedTail(integration, parts);
      idle.delete(integration);
      used.set(integration, tail);
      return tail.use(() => {
        used.delete(integration);
        idle.set(integration, tail);
        dropIdle();
      });
    },
    /** Concurrent calls share one request to the leader of the stream. */
    facts: facts.now,
    bytes: () => windows.bytes,
    listened(): SharedTail[] {
      dropIdle();
      return [...used.values()].filter((tail) => tail.hasListeners);
    },
  };
}

type Facts = ReturnType<typeof openFacts>;

function openFacts(stream: Pick<LogStream, 'lookOnce'>) {
  let known: LogStreamFacts | undefined;
  let askedAtMs = -Infinity;
  return {
    now: shareWork(async () => {
      const atMs = performance.now();
      known = await stream.lookOnce();
      askedAtMs = atMs;
      return known;
    }),
    /** The last known facts of the log; undefined if they are older than two seconds. */
    get known(): LogStreamFacts | undefined {
      return performance.now() - askedAtMs < factsKnownForMs ? known : undefined;
    },
  };
}

/** The use of a tail by one request. Its disposal ends the use. */
export type Tail = ReturnType<SharedTail['use']>;

interface TailParts {
  bus: TailBus;
  stream: Pick<LogStream, 'saw'>;
  windows: Windows;
  read: (stored: StoredMessage) => LoggedBatch | undefined;
  facts: Facts;
}

class SharedTail {
  readonly integration: string;
  heardAtMs = performance.now();
  idleSinceMs = Infinity;
  readonly #parts: TailParts;
  #window: Window;
  /** The id of the log to which the window belongs. */
  #logId = '';
  #uses = 0;
  #listeners = 0;
  #listening: Disposable | undefined;
  /** Whether no batch is missing: the window has all batches up to its end, and an announcement comes for each later batch. */
  #isJoined = false;
  #announcements = 0;
  #wakes = 0;
  #isLooking = false;
  readonly #onWakes = new Set<() => void>();
  readonly #catchUp = shareWork(() => this.#readRest());

  constructor(integration: string, parts: TailParts) {
    this.integration = integration;
    this.#parts = parts;
    this.#window = parts.windows.open(integration, 1);
  }

  get through(): number {
    return this.#window.through;
  }

  get hasListeners(): boolean {
    return this.#listeners > 0;
  }

  announced(): void {
    // Without a waiting caller an announcement ends the subscription; the next caller then reads the log.
    if (!this.hasListeners) return this.close();
    this.#announcements += 1;
    this.heardAtMs = performance.now();
    if (!this.#isLooking) void this.#look();
  }

  close(): void {
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
    this.#isJoined = false;
  }

  use(onIdle: () => void) {
    this.#uses += 1;
    const ending = new DisposableStack();
    ending.defer(() => {
      this.#uses -= 1;
      if (this.#uses > 0) return;
      this.#window.clear();
      this.idleSinceMs = performance.now();
      onIdle();
    });
    return {
      window: (): Window => this.#window,
      /** A counter that rises when there may be new event batches: the caller then reads again. */
      wakes: (): number => this.#wakes,
      /** Subscribes to announcements for a waiting caller. Called once. */
      listen: () => void ending.use(this.#listen()),
      onWake: (wake: () => void): void => {
        this.#onWakes.add(wake);
        ending.defer(() => void this.#onWakes.delete(wake));
      },
      /**
       * Resolves with the facts of the log, once the window has, or can load, every batch up to the log's end. For a caller that
       * waits at the place `waitsAt` the facts may be two seconds old, because an announcement ends its wait.
       */
      reach: async (waitsAt?: Place): Promise<LogStreamFacts> => this.#factsAt(waitsAt) ?? this.#reach(),
      [Symbol.dispose]: () => ending.dispose(),
    };
  }

  #listen(): Disposable {
    this.#listeners += 1;
    this.#listening ??= this.#parts.bus.listen(
      publishedBatches(this.integration),
      ({ subject }) => {
        if (!isReplay(subject)) this.announced();
      },
      () => {
        this.#isJoined = false;
      },
    );
    return {
      [Symbol.dispose]: () => {
        this.#listeners -= 1;
        // If the last caller leaves before an announced batch was found, the tail unsubscribes: the next caller then reads the log.
        if (this.#listeners === 0 && this.#isLooking) this.close();
      },
    };
  }

  /** The last known facts, which suffice if the place is the end of the log, and the tail gets each later announcement. */
  #factsAt(place: Place | undefined): LogStreamFacts | undefined {
    const { known } = this.#parts.facts;
    if (place === undefined || known === undefined || !this.#isJoined || this.#isLooking) return undefined;
    const isOfThisLog = known.id === this.#logId && place.stream === known.id;
    return isOfThisLog && place.sequence === known.lastSequence + 1 ? known : undefined;
  }

  async #reach(): Promise<LogStreamFacts> {
    const facts = await this.#parts.facts.now().catch((cause: unknown) => {
      throw cause instanceof Failure ? cause : unreadable(cause);
    });
    const { id, lastSequence } = facts;
    if (id !== this.#logId) {
      // The window is replaced if the log was created again or restored, because the window has sequences of the former log.
      this.#window.clear();
      this.#window = this.#parts.windows.open(this.integration, 1);
      this.#logId = id;
      this.#isJoined = false;
    }
    if (!this.#isJoined) {
      const isBehind = this.#window.through < lastSequence;
      this.#window.jump(lastSequence);
      this.#isJoined = this.#listening !== undefined;
      // Announcements of batches before the new window may be lost, and the check of each second finds only later batches.
      if (isBehind) this.#wakeAll();
      return facts;
    }
    const window = this.#window;
    if (window.through < lastSequence) {
      if (await this.#catchUp()) this.#wakeAll();
      // Another caller may have replaced `this.#window`, because the log was created again.
      window.advance(lastSequence);
    }
    return facts;
  }

  /** Reads the log from the end of the window on. True if the log had a further message. */
  async #readRest(): Promise<boolean> {
    const window = this.#window;
    const subject = storedBatches(this.integration);
    const reading = { subject, from: { sequence: window.through + 1 }, exact: true };
    let found = false;
    for await (const stored of this.#parts.bus.readStream(eventBatchesStream, reading)) {
      // An unused or replaced window gets no batch: the bytes of the batch would count towards the bound on memory for ever.
      if (this.#uses === 0 || window !== this.#window) return found;
      if (stored.sequence <= window.through) continue;
      // After a reconnect the log may be an older copy: its last message is not noted as the newest before the log was compared.
      if (this.#isJoined) this.#parts.stream.saw(this.#logId, stored);
      const batch = this.#parts.read(stored);
      if (batch !== undefined) window.add(batch);
      found = true;
    }
    return found;
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    for (let round = 0; round < lookDelaysMs.length && this.hasListeners;) {
      await wait(lookDelaysMs[round]);
      round += 1;
      const before = this.#announcements;
      const found = this.#isJoined && (await this.#catchUp().catch(() => false));
      if (!found) continue;
      this.#wakeAll();
      if (before === this.#announcements) break;
      // Another batch was announced during the read. It may not be stored yet, so the delays begin again.
      round = 0;
    }
    this.#isLooking = false;
  }

  #wakeAll(): void {
    this.#wakes += 1;
    for (const wake of this.#onWakes) wake();
  }
}

const isReplay = (subject: string): boolean => subject.split('.')[1] === 'replay';

const unreadable = (cause: unknown): Failure =>
  new Failure('unavailable', 'The events cannot be read; try again shortly.', {
    retryAfterSeconds: 1,
    cause,
  });

const everyMs = 1_000;
const integrationsAtOnce = 250;

/**
 * A core NATS message gets lost if the route between two servers breaks. The check of waiting callers costs a request a second; if
 * the log has grown, one more for every 250 integrations without an announcement in the last second.
 */
export function watchLostWakes(
  bus: Pick<Bus, 'lastOfEach'>,
  tails: Tails,
  onLost: () => void,
  log: Log,
): AsyncDisposable {
  /** The ends of the log at the last two checks. A replica of the stream may lag, so a check reads from the older end on. */
  let ends: [number, number] = [0, 0];

  const check = async (): Promise<void> => {
    const listened = tails.listened();
    const lastSequence = listened.length === 0 ? 0 : (await tails.facts()).lastSequence;
    const [from, before] = ends;
    ends = [before, lastSequence];
    if (from === lastSequence) return;
    const quietSinceMs = performance.now() - everyMs;
    const quiet = listened.filter(({ heardAtMs }) => heardAtMs < quietSinceMs);
    for (let at = 0; at < quiet.length; at += integrationsAtOnce)
      await find(quiet.slice(at, at + integrationsAtOnce), from);
  };

  const find = async (some: readonly SharedTail[], checked: number): Promise<void> => {
    const from = Math.min(...some.map(({ through }) => Math.max(through, checked))) + 1;
    const byIntegration = new Map(some.map((tail) => [tail.integration, tail]));
    const subjects = Array.from(byIntegration.keys(), storedBatches);
    for (const { subject, sequence } of await bus.lastOfEach(eventBatchesStream, subjects, from)) {
      const stored = readStoredBatchSubject(subject);
      const tail = byIntegration.get(stored?.integration ?? '');
      if (tail === undefined || stored?.announcer === 'replay' || sequence <= tail.through) continue;
      onLost();
      tail.announced();
    }
  };

  return openPeriodicCheck(check, { what: 'lost announcements', everyMs, log });
}
