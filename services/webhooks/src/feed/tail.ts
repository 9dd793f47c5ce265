// The newest part of the log of one integration, as the feed reads it on any replica, whoever owns the partition: a window
// (log/window.ts) of the feed's own. All callers of the integration share it.
//
//   nobody waits      a request asks where the log ends, and loads what it lacks in chunks
//   somebody waits    each announcement of a push, heard on the subject of its event batch, has the rest of the log read once
//   the last left     the replica stays subscribed for a minute. A caller that comes back with the offset of the log's end waits
//                     at once, without a request to nats-server. The first announcement ends the subscription.
//
// An announcement comes before nats-server has stored its event batch, so that the batch is looked for again and again for a
// second. Where an announcement was lost, a check finds its batch.
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
import type { Bus, StoredMessage, StreamFacts } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { Windows, type Window } from '../log/window.ts';
import { readFeedBatch, type FeedBatch } from './batch.ts';
import type { Place } from './place.ts';

type TailBus = Pick<Bus, 'readStream' | 'streamFacts' | 'listen'>;

/** Between looks for an event batch that was announced: a second in all. */
const lookDelaysMs = [2, 3, 5, 10, 20, 40, 80, 160, 320, 360];
/** Chunks stay in memory for the next pages. */
const chunksBytesMax = 24 * 1024 * 1024;
/** What is read at once keeps deliveries waiting, on the line to nats-server and in this process. */
const readBytesMax = 256 * 1024;
const idleTailsMax = limits.feedWaitersMax;
/** After its last use a tail is kept for so long: with waits of 25 s and two replicas, one in eight callers comes later. */
const idleForMs = 60_000;
/** Callers that wait have the log's end looked up once a second. */
const factsKnownForMs = 2_000;

export type Tails = ReturnType<typeof openTails>;

export function openTails(bus: TailBus, log: Log) {
  const read = (stored: StoredMessage): FeedBatch | undefined => readFeedBatch(stored, log);
  const windows = new Windows({ bus, read, chunksBytesMax, readBytesMax });
  const used = new Map<string, SharedTail>();
  /** In the order in which their last callers left. */
  const idle = new Map<string, SharedTail>();
  const dropIdle = (): void => {
    const sinceMs = performance.now() - idleForMs;
    for (const [integration, tail] of idle) {
      if (idle.size <= idleTailsMax && tail.idleSinceMs > sinceMs) return;
      idle.delete(integration);
      tail.close();
    }
  };
  const facts = openFacts(bus);

  return {
    use(integration: string): Tail {
      const tail =
        used.get(integration) ??
        idle.get(integration) ??
        new SharedTail(integration, bus, windows, read, facts);
      idle.delete(integration);
      used.set(integration, tail);
      return tail.use(() => {
        used.delete(integration);
        idle.set(integration, tail);
        dropIdle();
      });
    },
    /** Concurrent callers share one question to the stream's leader. */
    facts: () => facts.now(),
    /** The tails with a waiting caller, for the check of lost announcements. */
    listened(): SharedTail[] {
      dropIdle();
      return [...used.values()].filter((tail) => tail.hasListeners);
    },
  };
}

type Facts = ReturnType<typeof openFacts>;

function openFacts(bus: Pick<Bus, 'streamFacts'>) {
  let known: StreamFacts | undefined;
  let askedAtMs = -Infinity;
  return {
    now: shareWork(async () => {
      const atMs = performance.now();
      known = await bus.streamFacts(eventBatchesStream);
      askedAtMs = atMs;
      return known;
    }),
    /** The last facts; undefined if they are older than two seconds. */
    get known(): StreamFacts | undefined {
      return performance.now() - askedAtMs < factsKnownForMs ? known : undefined;
    },
  };
}

/** The tail as one request uses it. Disposing of it ends the use. */
export type Tail = ReturnType<SharedTail['use']>;

class SharedTail {
  readonly integration: string;
  /** By `performance.now()`. */
  heardAtMs = performance.now();
  /** When its last caller left, by `performance.now()`. */
  idleSinceMs = Infinity;
  readonly #bus: TailBus;
  readonly #windows: Windows<FeedBatch>;
  readonly #read: (stored: StoredMessage) => FeedBatch | undefined;
  readonly #facts: Facts;
  #window: Window<FeedBatch>;
  /** When the log was made that the window is of. */
  #madeAtMs: number | undefined;
  #uses = 0;
  #listeners = 0;
  #listening: Disposable | undefined;
  /** No batch is missing between the window and the announcements heard since. */
  #isJoined = false;
  #announcements = 0;
  #wakes = 0;
  #isLooking = false;
  readonly #onWakes = new Set<() => void>();
  readonly #catchUp = shareWork(() => this.#readRest());

  constructor(
    integration: string,
    bus: TailBus,
    windows: Windows<FeedBatch>,
    read: (stored: StoredMessage) => FeedBatch | undefined,
    facts: Facts,
  ) {
    this.integration = integration;
    this.#bus = bus;
    this.#windows = windows;
    this.#read = read;
    this.#facts = facts;
    this.#window = windows.open(integration, 1);
  }

  /** The window has every batch of the integration up to there. */
  get through(): number {
    return this.#window.through;
  }

  get hasListeners(): boolean {
    return this.#listeners > 0;
  }

  announced(): void {
    // The next caller reads the log.
    if (!this.hasListeners) return this.close();
    this.#announcements += 1;
    this.heardAtMs = performance.now();
    if (!this.#isLooking) void this.#look();
  }

  /** Listens no more. */
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
    const windowNow = (): Window<FeedBatch> => this.#window;
    const wakesNow = (): number => this.#wakes;
    return {
      get window() {
        return windowNow();
      },
      /** Counts announcements that brought event batches. Where it has risen since `reach`, the caller reads again. */
      get wakes() {
        return wakesNow();
      },
      /** Hears announcements from now on, as a caller waits. Called once. */
      listen: () => void ending.use(this.#listen()),
      /** Calls `wake` whenever `wakes` has risen. */
      onWake: (wake: () => void): void => {
        this.#onWakes.add(wake);
        ending.defer(() => void this.#onWakes.delete(wake));
      },
      /**
       * Resolves with the facts of the log, once the window has, or can load, every batch up to its end. `waitsAt` is the place of a
       * caller that will wait there: it hears of later batches as they come, and the facts may be two seconds old.
       */
      reach: async (waitsAt?: Place): Promise<StreamFacts> => this.#factsAt(waitsAt) ?? this.#reach(),
      [Symbol.dispose]: () => ending.dispose(),
    };
  }

  #listen(): Disposable {
    this.#listeners += 1;
    this.#listening ??= this.#bus.listen(
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
        // No second announcement comes of an event batch that the tail still looks for.
        if (this.#listeners === 0 && this.#isLooking) this.close();
      },
    };
  }

  /** Facts of the last two seconds, if the place is the end of the log and the tail hears of each later event batch. */
  #factsAt(place: Place | undefined): StreamFacts | undefined {
    const { known } = this.#facts;
    if (place === undefined || known === undefined || !this.#isJoined || this.#isLooking) return undefined;
    const isOfThisLog =
      known.madeAt.getTime() === this.#madeAtMs && place.stream === known.madeAt.toISOString();
    return isOfThisLog && place.sequence === known.lastSequence + 1 ? known : undefined;
  }

  async #reach(): Promise<StreamFacts> {
    const facts = await this.#facts.now().catch((cause: unknown) => {
      throw cause instanceof Failure ? cause : unreadable(cause);
    });
    const { madeAt, lastSequence } = facts;
    if (madeAt.getTime() !== this.#madeAtMs) {
      // Sequences of another making say nothing of this one.
      this.#window = this.#windows.open(this.integration, 1);
      this.#madeAtMs = madeAt.getTime();
      this.#isJoined = false;
    }
    if (!this.#isJoined) {
      this.#window.jump(lastSequence);
      this.#isJoined = this.#listening !== undefined;
    } else if (this.#window.through < lastSequence) {
      if (await this.#catchUp()) this.#wakeAll();
      this.#window.advance(lastSequence);
    }
    return facts;
  }

  /** Reads the log from the end of the window on. True where it had a batch. */
  async #readRest(): Promise<boolean> {
    const window = this.#window;
    const subject = storedBatches(this.integration);
    const reading = { subject, from: { sequence: window.through + 1 }, exact: true };
    let found = false;
    for await (const stored of this.#bus.readStream(eventBatchesStream, reading)) {
      if (stored.sequence <= window.through) continue;
      const batch = this.#read(stored);
      if (batch !== undefined) window.add(batch);
      found = true;
    }
    return found;
  }

  /** Reads again and again until the announced batch is stored. */
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
      // A batch that was announced meanwhile may not be stored yet.
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
 * Finds, once a second, the event batches of integrations whose callers wait and whose announcement did not come: a plain
 * message is lost where the way between two servers breaks. While the log does not grow, that is one question a second;
 * otherwise one more for 250 integrations that have heard nothing.
 */
export function watchLostWakes(
  bus: Pick<Bus, 'lastOfEach'>,
  tails: Tails,
  onLost: () => void,
  log: Log,
): AsyncDisposable {
  /** Where the log ended at the last two checks. A copy may be behind, so that a check looks at the growth before as well. */
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
