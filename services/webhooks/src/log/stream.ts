// The stream EVENT_BATCHES (the log), and whether the sequences that replicas have stored still name the same messages. A log
// that was created again has another creation time. A log that was restored from an older copy is recognised by its messages
// (restores.ts).
import { eventBatchesNoun, eventBatchesStream } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Store } from '@integration-sync/runtime/store';
import { openKnownRestores, type KnownRestores } from './known-restores.ts';
import { clockSkewMs } from './logged-batch.ts';
import { findRestore, isSameTime, type NewestMessage } from './restores.ts';

export interface LogStreamFacts {
  /** Identifies the log: another id follows when the log is created again or restored. */
  id: string;
  /** The creation time of the log, as text in the form that documents in MongoDB store. */
  createdAt: string;
  firstSequence: number;
  lastSequence: number;
}

const everySubject = `${eventBatchesNoun}.>`;

export const logIdOf = (createdAt: string, restores: number): string =>
  restores === 0 ? createdAt : `${createdAt}#${restores}`;

export const createdAtOf = (id: string): string => id.split('#')[0] ?? id;

interface LogStreamOptions {
  bus: Pick<Bus, 'patiently' | 'streamFacts' | 'storedAt' | 'readStream' | 'reconnects'>;
  store: Store;
  /** Corrects stored sequences of EVENTS, which may have been restored together with the log. */
  beforeReading: () => Promise<void>;
  log: Log;
}

export class LogStream {
  readonly #options: LogStreamOptions;
  readonly restores: KnownRestores;
  #facts: LogStreamFacts = { id: '', createdAt: '', firstSequence: 0, lastSequence: 0 };
  #newest: NewestMessage = { sequence: 0, storedAt: new Date(0) };
  /** The last search for a restore. While `bus.reconnects` is unchanged, nats-server has not restarted. */
  #compared = { reconnects: -1, atMs: Infinity };

  constructor(options: LogStreamOptions) {
    this.#options = options;
    this.restores = openKnownRestores(options.store, options.log);
  }

  get facts(): Readonly<LogStreamFacts> {
    return this.#facts;
  }

  /** The newest message of the log that this replica knows. It is stored with each sequence that this replica stores. */
  get newest(): NewestMessage {
    return this.#newest;
  }

  /** Notes a message that was read from the log of this id, because the message may be the newest. */
  saw(id: string, { sequence, storedAt }: NewestMessage): void {
    if (id === this.#facts.id && sequence > this.#newest.sequence) this.#newest = { sequence, storedAt };
  }

  /** Asks nats-server for the facts of the log, and retries until nats-server answers. */
  async look(): Promise<Readonly<LogStreamFacts>> {
    const { bus, beforeReading } = this.#options;
    const { reconnects } = bus;
    await beforeReading();
    const facts = await bus.patiently(`stream ${eventBatchesStream}`, () => this.lookOnce());
    // After a reconnect during the request, nats-server may have been restored, so the request is repeated.
    return bus.reconnects === reconnects ? facts : this.look();
  }

  /** Asks for the facts of the log, searches for a restore, and reads the restores that other replicas have found. */
  async refresh(): Promise<Readonly<LogStreamFacts>> {
    await this.look();
    await this.restores.read(this.#facts.createdAt);
    return this.#named();
  }

  async lookOnce(): Promise<Readonly<LogStreamFacts>> {
    const { bus } = this.#options;
    const before = this.#newest;
    const { madeAt, firstSequence, lastSequence, lastAt } = await bus.streamFacts(eventBatchesStream);
    // `reconnects` is read after the answer, because a request without a connection waits until the next connection.
    const { reconnects } = bus;
    const end = { sequence: lastSequence, storedAt: lastAt };
    const createdAt = madeAt.toISOString();
    const { id: idBefore, createdAt: createdBefore } = this.#facts;
    const isOther = createdAt !== createdBefore;
    if (isOther) await this.restores.read(createdAt);
    this.#facts = { id: idBefore, createdAt, firstSequence, lastSequence };
    const isConnected = reconnects === this.#compared.reconnects;
    if (!isOther && !isContinued(before, end, isConnected)) await this.#compare(before);
    const { id } = this.#named();
    if (id !== idBefore || end.sequence > this.#newest.sequence) this.#newest = end;
    if (id !== idBefore || !isConnected) this.#compared = { reconnects, atMs: Date.now() };
    return this.#facts;
  }

  /** Searches for a restore: compares the given messages, which replicas have stored as their newest, with the log. */
  async verify(messages: readonly (NewestMessage | undefined)[]): Promise<void> {
    const distinct = new Map<string, NewestMessage>();
    for (const one of messages)
      if (one !== undefined) distinct.set(`${one.sequence} ${one.storedAt.getTime()}`, one);
    for (const message of distinct.values()) await this.#compare(message);
    this.#named();
  }

  /** Whether the log has the message. False if the log was restored after the message was stored, and lacks it. */
  async has(message: NewestMessage): Promise<boolean> {
    const { sequence, storedAt } = message;
    if (storedAt.getTime() > this.#compared.atMs + clockSkewMs) return true;
    if (sequence === this.#newest.sequence && isSameTime(storedAt, this.#newest.storedAt)) return true;
    await this.verify([message]);
    return this.restores.validThrough(message) >= sequence;
  }

  async #compare(message: NewestMessage): Promise<void> {
    const { firstSequence, createdAt } = this.#facts;
    if (message.sequence < firstSequence) return;
    if (this.restores.validThrough(message) < message.sequence) return;
    const restore = await findRestore(this.#options.bus, eventBatchesStream, everySubject, message);
    if (restore !== undefined) await this.restores.note(createdAt, message, restore);
  }

  #named(): Readonly<LogStreamFacts> {
    const { createdAt } = this.#facts;
    this.#facts = { ...this.#facts, id: logIdOf(createdAt, this.restores.count) };
    return this.#facts;
  }
}

/** Whether the end of the log proves that the log still has the formerly newest message. */
const isContinued = (before: NewestMessage, end: NewestMessage, isConnected: boolean): boolean =>
  before.sequence === end.sequence
    ? isSameTime(before.storedAt, end.storedAt)
    : end.sequence > before.sequence && isConnected;
