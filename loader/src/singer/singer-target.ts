// A Singer target: pushes the records, and prints a STATE once the service has accepted or rejected all records before
// it. So a tap that starts again from a printed STATE skips no record, whenever the target was killed.
import type { Client, Kind, PushOutcome } from '@integration-sync/client';
import { find, refusal, tooMany } from '../core/sending/unnamed.ts';
import { exitCodes, Stop, type ExitCode } from '../core/exit.ts';
import { kinds } from '../core/kinds.ts';
import { unreadableId } from '../core/mapping/convert.ts';
import type { Rules } from '../core/mapping/map.ts';
import { jsonOf, ndjsonRejects } from '../core/reading/json-source.ts';
import { Output } from '../disk/rows-file.ts';
import { PushQueue } from '../core/sending/push-queue.ts';
import type { SendItems } from '../core/sending/loading.ts';
import { Lanes } from '../core/sending/lanes.ts';
import { itemsMax, itemsOf, settle, slotOf, Slots, type Slot } from '../core/sending/slots.ts';
import { parseMessage, type Message } from './messages.ts';
import { openStream, type Stream } from './tap-streams.ts';

export interface TargetOptions {
  client: Client;
  send: SendItems;
  rulesOf: (stream: string) => Rules;
  inFlightMax: number;
  rejectsFolder: string;
  /** The largest percentage of the records that an ACTIVATE_VERSION may archive. */
  mostPercent: number;
  emit: (state: string) => void | Promise<void>;
  say: (text: string) => void;
}

const laterMax = 4_000;

interface Pending {
  /** The number of rows that must have their outcome before the STATE is printed. */
  after: number;
  state: string;
}

export class Target implements AsyncDisposable {
  readonly counts = { accepted: 0, rejected: 0 };
  readonly #options: TargetOptions;
  readonly #streams = new Map<string, Stream>();
  readonly #streamOf = new WeakMap<Slot, Stream>();
  readonly #queues: Record<Kind, PushQueue>;
  readonly #slots = new Slots();
  readonly #rejects = new Map<string, Output>();
  /** Rows whose reference was not found. They are pushed once more after all other rows. */
  readonly #later = new Map<string, Slot>();
  #pending: Pending[] = [];
  #added = 0;
  #released = 0;
  #messages = 0;
  #isRefused = false;

  constructor(options: TargetOptions) {
    this.#options = options;
    const queueOf = (kind: Kind): PushQueue =>
      new PushQueue({
        lanes: new Lanes(options.inFlightMax),
        send: (slots, repeated) => options.send(kind, itemsOf(slots), repeated),
        answered: (slots, outcome) => this.#answered(kind, slots, outcome),
      });
    this.#queues = {
      suppliers: queueOf('suppliers'),
      products: queueOf('products'),
      batches: queueOf('batches'),
    };
  }

  get exitCode(): ExitCode {
    return this.counts.rejected > 0 || this.#isRefused ? exitCodes.rejected : exitCodes.all;
  }

  get isWaiting(): boolean {
    return this.#slots.size > 0;
  }

  async take(line: string): Promise<void> {
    this.#messages += 1;
    const message = parseMessage(line, this.#messages);
    if (message.type === 'RECORD') await this.#record(message, line);
    else if (message.type === 'STATE') {
      this.#pending.push({ after: this.#added, state: message.value });
      await this.#emit();
    } else if (message.type === 'SCHEMA') await this.#schema(message);
    else if (message.type === 'ACTIVATE_VERSION') await this.#activate(message);
  }

  /** Resolves once all received records have their outcome, and the last STATE is printed. */
  async drain(): Promise<void> {
    for (const kind of kinds) {
      await this.#queues[kind].drain();
      await this.#sendLater(kind);
    }
    await this.#awaitAnswers();
  }

  /** Resolves once all received records are answered, except those in `#later`: their references may still come. */
  async #awaitAnswers(): Promise<void> {
    for (const kind of kinds) await this.#queues[kind].drain();
    this.#release();
    await this.#emit();
  }

  /** Waits for the pushes in flight, and sends no further pushes. */
  async stop(): Promise<void> {
    await Promise.all(kinds.map((kind) => this.#queues[kind].stop()));
    this.#release();
    await this.#emit();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const output of this.#rejects.values()) await output[Symbol.asyncDispose]();
  }

  async #schema({ stream: name, schema }: Extract<Message, { type: 'SCHEMA' }>): Promise<void> {
    const before = this.#streams.get(name);
    const stream = openStream(name, Object.keys(schema.properties ?? {}), this.#options.rulesOf(name));
    // A tap may send a schema again in the middle of a version.
    if (before !== undefined)
      Object.assign(stream, { version: before.version, mark: before.mark, rejectedIds: before.rejectedIds });
    this.#streams.set(name, stream);
  }

  async #record(
    { stream: name, record, version }: Extract<Message, { type: 'RECORD' }>,
    line: string,
  ): Promise<void> {
    const stream = this.#streams.get(name);
    if (stream === undefined) {
      throw new Stop(
        `Message ${this.#messages}: a RECORD of ${name} before its SCHEMA. Nothing after the last STATE is acknowledged.`,
      );
    }
    if (version !== undefined && version !== stream.version) await this.#begin(stream, version);
    const slot = slotOf({ number: this.#messages, made: stream.make(record), raw: line });
    this.#streamOf.set(slot, stream);
    this.#slots.add(slot);
    this.#added += 1;
    if (slot.status === undefined) this.#queues[stream.kind].add(slot);
    if (!this.#slots.isFull) return;
    this.#release();
    while (this.#slots.isFull) {
      const busy = kinds.find((kind) => !this.#queues[kind].isIdle);
      if (busy === undefined) await this.drain();
      else {
        for (const kind of kinds) this.#queues[kind].flush();
        await this.#queues[busy].next();
      }
      await this.#emit();
      if (this.#later.size > laterMax) await this.drain();
    }
  }

  /**
   * Begins a version at its first record. Records that the version does not name keep a `lastSyncedAt` that is not after `mark`.
   */
  async #begin(stream: Stream, version: number): Promise<void> {
    await this.#awaitAnswers();
    const { value } = await this.#options.client.pages(stream.kind, { limit: 1 }).next();
    stream.version = version;
    stream.mark = value === undefined ? undefined : value.nextSince;
    stream.rejectedIds = [];
  }

  async #activate({ stream: name, version }: Extract<Message, { type: 'ACTIVATE_VERSION' }>): Promise<void> {
    const stream = this.#streams.get(name);
    // Some taps send ACTIVATE_VERSION also before the first record; that message is ignored.
    if (stream?.mark === undefined || stream.version !== version) return;
    await this.#awaitAnswers();
    const { client, mostPercent, say } = this.#options;
    const { kind, mark, rejectedIds } = stream;
    const other = [...this.#streams.values()].find((one) => one.kind === kind && one !== stream);
    if (other !== undefined) {
      say(`${name}: nothing is archived, as ${other.name} has ${kind} too.\n`);
      return;
    }
    if (rejectedIds.includes(unreadableId)) {
      say(`${name}: nothing is archived, as records whose ids cannot be read were rejected.\n`);
      return;
    }
    // Rows that wait for their references count as loaded.
    const waiting = this.#laterOf(kind).map(({ id }) => id);
    const { ids, total } = await find(client, kind, { mark, rejectedIds: [...rejectedIds, ...waiting] });
    if (tooMany(ids.length, total, mostPercent)) {
      this.#isRefused = true;
      say(`${refusal(kind, ids.length, total, mostPercent).replace('--most', 'prune_most')}\n`);
      return;
    }
    if (ids.length > 0) await client.archive(kind, ids);
    say(`${name}: ${ids.length} ${kind} that version ${version} lacks are archived.\n`);
  }

  #answered(kind: Kind, slots: readonly Slot[], outcome: PushOutcome): void {
    for (const [at, slot] of slots.entries()) {
      settle(slot, outcome, at);
      if (slot.status === 'rejected') continue;
      const key = `${kind} ${slot.id}`;
      const earlier = this.#later.get(key);
      if (earlier !== undefined) earlier.status = 'rejected';
      this.#later.delete(key);
      if (slot.status !== 'deferred') continue;
      slot.status = undefined;
      this.#later.set(key, slot);
    }
    this.#release();
  }

  #laterOf(kind: Kind): Slot[] {
    return [...this.#later].flatMap(([key, slot]) => (key.startsWith(`${kind} `) ? [slot] : []));
  }

  async #sendLater(kind: Kind): Promise<void> {
    const slots = this.#laterOf(kind);
    for (let from = 0; from < slots.length; from += itemsMax) {
      const some = slots.slice(from, from + itemsMax);
      const outcome = await this.#options.send(kind, itemsOf(some));
      for (const [at, slot] of some.entries()) {
        settle(slot, outcome, at);
        if (slot.status === 'deferred') slot.status = 'rejected';
        this.#later.delete(`${kind} ${slot.id}`);
      }
    }
  }

  #release(): void {
    this.#slots.release((slot) => {
      this.#released += 1;
      if (slot.status === 'rejected') this.#reject(slot);
      else this.counts.accepted += 1;
    });
  }

  #reject(slot: Slot): void {
    const stream = this.#streamOf.get(slot);
    if (stream === undefined) return;
    this.counts.rejected += 1;
    if (slot.id !== '') stream.rejectedIds.push(slot.id);
    let output = this.#rejects.get(stream.name);
    if (output === undefined) {
      const name = stream.name.replaceAll(/[^\w.-]/g, '_');
      output = Output.fresh(this.#options.rejectsFolder, `${stream.kind}-${name}`, ndjsonRejects.extension);
      this.#rejects.set(stream.name, output);
    }
    const message: { record?: object } = JSON.parse(String(slot.raw));
    output.write(ndjsonRejects.line({ raw: jsonOf(message.record), number: slot.row }, slot.reason));
  }

  /** Prints only the last STATE that is due, because it includes the earlier ones. Rejected rows are written before that. */
  async #emit(): Promise<void> {
    const due = this.#pending.filter(({ after }) => after <= this.#released);
    const last = due.at(-1);
    this.#pending = this.#pending.slice(due.length);
    for (const output of this.#rejects.values()) await output.flush();
    if (last !== undefined) await this.#options.emit(last.state);
  }
}
