// One load: pushes the rows of its files, one kind after another, and writes the outcomes in the order of the rows. Rows whose
// reference was not found are pushed again at the end.
//
//   loading    pushes every file in turn, from its first row that is not acknowledged
//   retrying   pushes the deferred rows; an interrupted retry begins again, which is safe
//   finished
import type { Kind, PushOutcome } from '@integration-sync/client';
import { Stop } from '../exit.ts';
import { textOf, Wrong } from '../mapping/convert.ts';
import type { Item } from '../mapping/items.ts';
import { placeOf, type RejectsForm, type Source } from '../reading/source.ts';
import type { Deferred, DeferredRows } from './deferred.ts';
import { Lanes } from './lanes.ts';
import { PushQueue } from './push-queue.ts';
import { withQuestion } from './reasons.ts';
import { itemsMax, itemsOf, settle, slotOf, Slots, type Slot } from './slots.ts';
import type { FileState, LoadState } from './state.ts';

/** Pushes items. `repeated` is called before each repetition of a request. */
export type SendItems = (kind: Kind, items: readonly Item[], repeated?: () => void) => Promise<PushOutcome>;

/** What a load writes: rejected rows, results, and what a resumed load needs. */
export interface LoadOutputs {
  /** The deferred rows; undefined if no state is saved, as in a plan. */
  readonly deferred: DeferredRows | undefined;
  /** Whether an input file has rejected rows, but the file for its rejected rows is not created yet. */
  readonly hasNewRejects: boolean;
  openRejects(): Promise<void>;
  result(file: FileState, slot: Pick<Slot, 'row' | 'id' | 'internalId' | 'status'>): void;
  reject(file: FileState, form: RejectsForm, slot: Pick<Slot, 'row' | 'raw' | 'id'>, reason: string): void;
  /** Writes all pending rows. Resolves with the state at the time of the call: all rows that it counts are now written. */
  flush(): Promise<LoadState>;
}

export interface LoadingOptions {
  state: LoadState;
  /** The readers of the files, one for each file of the state. */
  sources: readonly Source[];
  outputs: LoadOutputs;
  /** Saves the state; undefined for standard input and for a plan. */
  keep: ((state: LoadState) => Promise<void>) | undefined;
  send: SendItems;
  /** How many pushes may be in flight at most. The actual number depends on the service (lanes.ts). */
  inFlightMax: number;
  /** After an abort, no more pushes begin. */
  interrupt: AbortSignal;
  /** Called for each accepted row. */
  accepted?: (kind: Kind, id: string) => void;
  /** Called for each row that has its outcome, in the order of the file. */
  judged?: (file: FileState, slot: Slot) => void;
  /** Called when `rows` of the `total` rows of a file have their outcome. */
  progressed?: (file: FileState, rows: number, total: number | undefined) => void;
}

/** The saved `reach` (the last row that may have been sent) is this number of rows ahead: so not every push saves the state. */
const reachRows = 20_000;
const saveEveryMs = 1_000;
/** If the first rows of a file, up to this number, are all rejected, the load stops: the file is probably the wrong one. */
const probedRows = 500;
const shownReasons = 5;

export interface Reason {
  place: string;
  row: number;
  reason: string;
}

export class Loading {
  /** The first few rejected rows, for the summary. */
  readonly reasons: Reason[] = [];
  /** Whether the service has accepted a row. */
  hasStored = false;
  readonly #options: LoadingOptions;
  readonly #lanes: Lanes;
  #savedAt = 0;
  /** The state of the load that was saved last. */
  #saved: LoadState;

  constructor(options: LoadingOptions) {
    this.#options = options;
    this.#lanes = new Lanes(options.inFlightMax);
    this.#saved = structuredClone(options.state);
  }

  async run(): Promise<void> {
    const { state, sources } = this.#options;
    // If the files of a resumed load are not as the state says, the load ends before it sends a row.
    await this.#save();
    if (state.phase === 'loading') {
      for (const [index, source] of sources.entries()) await this.#sendFile(index, source);
      state.phase = 'retrying';
      await this.#save();
    }
    for (const [index, source] of sources.entries()) await this.#retry(index, source);
    state.phase = 'finished';
    await this.#save();
  }

  async #sendFile(index: number, source: Source): Promise<void> {
    const file = this.#fileAt(index);
    const { interrupt } = this.#options;
    const from = file.row;
    const again = file.reach;
    const slots = new Slots();
    let released = 0;
    let refused = 0;
    const release = (): void => {
      slots.release((slot) => {
        released += 1;
        if (slot.status === 'rejected' || slot.status === 'deferred') refused += 1;
        this.#settled(index, source, slot, slot.row <= again);
      });
      this.#options.progressed?.(file, Math.max(file.row - source.rowsBefore, 0), source.total);
    };
    const queue = this.#openQueue(source, release);
    const makeRoom = async (): Promise<void> => {
      for (release(); queue.isFull || slots.isFull;) {
        await queue.next();
        interrupt.throwIfAborted();
      }
    };
    // The first rows (`probedRows`) must be answered before other rows are sent. A resumed load does not wait.
    let isProbed = from > 0;
    try {
      for await (const rows of source.rows()) {
        const last = rows.at(-1)?.number ?? 0;
        if (last <= from) continue;
        if (last > file.reach) {
          file.reach = last + reachRows;
          await this.#save();
        }
        for (const row of rows) {
          if (row.number <= from) continue;
          const slot = slotOf(row);
          slots.add(slot);
          if (slot.status === undefined) queue.add(slot);
          if (!isProbed && released + slots.size >= probedRows) {
            isProbed = true;
            await queue.drain();
            release();
            if (refused === released) throw new Stop(this.#allRejected(source));
            await this.#save();
          }
          if (queue.isFull || slots.isFull) await makeRoom();
        }
        release();
        interrupt.throwIfAborted();
        if (performance.now() - this.#savedAt > saveEveryMs) await this.#save();
      }
      await queue.drain();
      release();
      await this.#save();
    } catch (error) {
      await queue.stop();
      release();
      throw error;
    }
  }

  #openQueue({ input: { kind }, columns }: Source, release: () => void): PushQueue {
    const { send, interrupt } = this.#options;
    this.#lanes.changeKind();
    return new PushQueue({
      lanes: this.#lanes,
      interrupt,
      send(sent, repeated) {
        const sending = send(kind, itemsOf(sent), repeated);
        for (const slot of sent) slot.item = undefined;
        return sending;
      },
      answered: (sent, outcome) => {
        sent.forEach((slot, at) => settle(slot, outcome, at, columns));
        this.hasStored ||= sent.some(({ status }) => status === 'created' || status === 'updated');
        release();
      },
    });
  }

  /** Saves the state. To be called when a load stops early, so that a resumed load does not send acknowledged rows again. */
  async save(): Promise<void> {
    // An interrupted retry of deferred rows begins again, so the state that was saved at its start is kept.
    if (this.#options.state.phase === 'loading') await this.#save();
  }

  async #save(): Promise<void> {
    this.#savedAt = performance.now();
    const { keep, outputs, state } = this.#options;
    // The state names the file for rejected rows before rows are written to that file. So after a kill the resumed load uses the
    // same file.
    while (outputs.hasNewRejects) {
      await outputs.openRejects();
      for (const [index, file] of this.#saved.files.entries()) file.rejects ??= state.files[index]?.rejects;
      await keep?.(this.#saved);
    }
    this.#saved = await outputs.flush();
    await keep?.(this.#saved);
  }

  #fileAt(index: number): FileState {
    const file = this.#options.state.files[index];
    if (file === undefined) throw new Error(`the load has no file ${index}`);
    return file;
  }

  #settled(index: number, source: Source, slot: Slot, isAgain: boolean): void {
    const file = this.#fileAt(index);
    const { deferred } = this.#options.outputs;
    const { kind } = file;
    file.row = slot.row;
    const replaces = slot.id !== '' && slot.status !== 'rejected';
    const earlier = replaces ? deferred?.drop(kind, slot.id) : undefined;
    if (earlier !== undefined)
      this.#rejectDeferred(earlier, `${earlier.reason} (row ${slot.row} has its id too)`);
    if (slot.status === 'deferred') {
      const { row, id, reason } = slot;
      const made = source.make(slot.raw);
      // The cells of a workbook become texts, because JSON has no days and no cell formats.
      const raw = Array.isArray(slot.raw) ? slot.raw.map(textOf) : slot.raw;
      const item = made instanceof Wrong ? {} : made;
      if (deferred?.add({ kind, file: index, row, id, raw, item, reason }) === true) return;
      slot.status = 'rejected';
    }
    this.#count(file, source, slot, isAgain);
  }

  #count(file: FileState, source: Source, slot: Slot, isAgain: boolean): void {
    const { outputs, accepted, judged } = this.#options;
    const { counts } = file;
    judged?.(file, slot);
    outputs.result(file, slot);
    if (slot.status === 'rejected') {
      counts.rejected += 1;
      const reason = withQuestion(slot.raw, slot.reason);
      outputs.reject(file, source.rejects, slot, reason);
      if (this.reasons.length < shownReasons)
        this.reasons.push({ place: placeOf(file), row: slot.row, reason });
      return;
    }
    accepted?.(file.kind, slot.id);
    if (slot.status === 'created') counts.created += 1;
    else if (slot.status === 'updated') counts.updated += 1;
    else if (isAgain) counts.sentAgain += 1;
    else counts.unchanged += 1;
  }

  #rejectDeferred({ file: index, ...deferred }: Deferred, reason: string): void {
    const source = this.#options.sources[index];
    if (source === undefined) return;
    const slot: Slot = { ...deferred, status: 'rejected', internalId: '', reason };
    this.#count(this.#fileAt(index), source, slot, false);
  }

  async #retry(index: number, source: Source): Promise<void> {
    const { send, interrupt, outputs } = this.#options;
    const file = this.#fileAt(index);
    const rows = outputs.deferred?.of(index) ?? [];
    for (let from = 0; from < rows.length; from += itemsMax) {
      interrupt.throwIfAborted();
      const some: Slot[] = rows
        .slice(from, from + itemsMax)
        .map((row) => Object.assign(row, { status: undefined, internalId: '' }));
      const outcome = await send(file.kind, itemsOf(some), () => interrupt.throwIfAborted());
      for (const [at, slot] of some.entries()) {
        settle(slot, outcome, at, source.columns);
        if (slot.status === 'deferred') slot.status = 'rejected';
        this.hasStored ||= slot.status !== 'rejected';
        this.#count(file, source, slot, false);
      }
    }
  }

  #allRejected(source: Source): string {
    const { deferred } = this.#options.outputs;
    const waiting = deferred?.first(shownReasons).map(({ row, reason }) => ({ row, reason })) ?? [];
    const shown = [...this.reasons, ...waiting].slice(0, shownReasons);
    const lines = shown.map(({ row, reason }) => `  row ${row}: ${reason}`);
    return [`${placeOf(source.input)}: the first ${probedRows} rows were all rejected.`, ...lines].join('\n');
  }
}
