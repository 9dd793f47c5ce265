// The outputs of a load in a browser: logs, which IndexedDB stores together with the state of the load (keeping.ts).
import {
  DeferredRows,
  joined,
  noteLoad,
  placeOf,
  resultsHead,
  resultsLine,
  utf8Bytes,
  type DeferredEntry,
  type FileState,
  type LoadOutputs,
  type LoadState,
  type RejectsForm,
  type Slot,
} from 'integration-sync/core';
import type { Reasons } from '../protocol.ts';
import { reasonOf } from '../../text/reasons.ts';
import type { Keeping, Piece } from './keeping.ts';

const rowsShown = 20;
const reasonsShown = 50;

/** Counts rejected rows by file and by reason. */
export class ReasonCounts {
  readonly #counts = new Map<string, Reasons & { rows: string[] }>();

  add(place: string, row: number, reason: string): void {
    const key = `${place}\n${reasonOf(reason)}`;
    const known = this.#counts.get(key);
    const [, got] = / got ("(?:[^"\\]|\\.){0,40}")/.exec(reason) ?? [];
    const which = got === undefined ? `${row}` : `${row} (${got})`;
    if (known === undefined) this.#counts.set(key, { place, reason, count: 1, rows: [which] });
    else {
      // The reason of a single row is shown in full; a reason of several rows is shown without the values of the rows.
      if (known.count === 1 && known.reason !== reason) known.reason = reasonOf(reason);
      known.count += 1;
      if (known.rows.length < rowsShown) known.rows.push(which);
    }
  }

  first(): Reasons[] {
    return [...this.#counts.values()]
      .toSorted((one, other) => other.count - one.count)
      .slice(0, reasonsShown)
      .map(({ place, reason, count, rows }) => ({ place, reason, count, rows: [...rows] }));
  }
}

/** The outputs of a check, which stores nothing. */
export class PlanOutputs implements LoadOutputs {
  readonly deferred = undefined;
  readonly hasNewRejects = false;
  readonly #state: LoadState;
  readonly #reasons: ReasonCounts;

  constructor(state: LoadState, reasons: ReasonCounts) {
    this.#state = state;
    this.#reasons = reasons;
  }

  async openRejects(): Promise<void> {
    // A check has no files for rejected rows.
  }

  result(): void {
    // A check has no results.
  }

  reject(file: FileState, _form: RejectsForm, { row }: Pick<Slot, 'row'>, reason: string): void {
    this.#reasons.add(placeOf(file), row, reason);
  }

  async flush(): Promise<LoadState> {
    return structuredClone(this.#state);
  }
}

export const rejectsLog = (index: number): string => `rejects-${index}`;
export const resultsLog = 'results';
const deferredLog = 'deferred';
const idsLog = 'rejected ids';

function addTo(all: Map<string, string[]>, kind: string, id: string): void {
  const ids = all.get(kind);
  if (ids === undefined) all.set(kind, [id]);
  else ids.push(id);
}

async function* linesOf(pieces: readonly Uint8Array<ArrayBuffer>[]): AsyncGenerator<string> {
  for (const line of (await new Blob([...pieces]).text()).split('\n')) if (line !== '') yield line;
}

interface Opening {
  keeping: Keeping;
  state: LoadState;
  reasons: ReasonCounts;
}

export class KeptOutputs implements LoadOutputs {
  readonly deferred: DeferredRows;
  /** Rejected rows go into a log in IndexedDB, so there is no new file that the state has to name. */
  readonly hasNewRejects = false;
  readonly #opening: Opening;
  readonly #rejectedIds: Map<string, string[]>;
  #kept: number;
  /** For each log, the bytes that `flush` appends, in order. */
  #pending = new Map<string, Uint8Array[]>();
  /** One line for each row; `flush` encodes all of them together. */
  #results: string[] = [];
  #flushed: Piece[] = [];

  private constructor(
    opening: Opening,
    kept: number,
    entries: readonly DeferredEntry[],
    rejectedIds: Map<string, string[]>,
  ) {
    this.#opening = opening;
    this.#kept = kept;
    this.#rejectedIds = rejectedIds;
    this.deferred = new DeferredRows({ write: (bytes) => this.#write(deferredLog, bytes) }, entries);
    if (opening.state.results?.bytes === 0) this.#results.push(resultsHead);
  }

  /** `kept`: how many pieces of logs an interrupted load has stored; 0 for a new load. */
  static async open(opening: Opening, kept: number): Promise<KeptOutputs> {
    const entries: DeferredEntry[] = [];
    const ids = new Map<string, string[]>();
    if (kept > 0) {
      for await (const line of linesOf(await opening.keeping.log(deferredLog)))
        entries.push(JSON.parse(line));
      for await (const line of linesOf(await opening.keeping.log(idsLog))) {
        const [kind, id]: [string, string] = JSON.parse(line);
        addTo(ids, kind, id);
      }
    }
    return new KeptOutputs(opening, kept, entries, ids);
  }

  async openRejects(): Promise<void> {
    // The log of rejected rows in IndexedDB need not be opened.
  }

  result(file: FileState, slot: Pick<Slot, 'row' | 'id' | 'internalId' | 'status'>): void {
    this.#results.push(resultsLine(file.path, slot));
  }

  reject(file: FileState, form: RejectsForm, slot: Pick<Slot, 'row' | 'raw' | 'id'>, reason: string): void {
    const { state, reasons } = this.#opening;
    const { row, raw, id } = slot;
    reasons.add(placeOf(file), row, reason);
    if (id !== '') {
      addTo(this.#rejectedIds, file.kind, id);
      this.#write(idsLog, utf8Bytes(`${JSON.stringify([file.kind, id])}\n`));
    }
    const log = rejectsLog(state.files.indexOf(file));
    const write = (bytes: Uint8Array): void => {
      this.#write(log, bytes);
      if (file.rejects !== undefined) file.rejects.bytes += bytes.length;
    };
    if (file.rejects === undefined) {
      file.rejects = { path: rejectsNameOf(file, form), bytes: 0 };
      write(form.head);
    }
    write(form.line({ raw, number: row }, reason));
  }

  #write(log: string, bytes: Uint8Array): void {
    const pending = this.#pending.get(log);
    if (pending === undefined) this.#pending.set(log, [bytes]);
    else pending.push(bytes);
  }

  /** Returns the state. The next `keep` stores it together with all outputs until now. */
  async flush(): Promise<LoadState> {
    const { results } = this.#opening.state;
    if (this.#results.length > 0) {
      const bytes = utf8Bytes(this.#results.join(''));
      this.#flushed.push({ log: resultsLog, bytes });
      if (results !== undefined) results.bytes += bytes.length;
      this.#results = [];
    }
    for (const [log, parts] of this.#pending) this.#flushed.push({ log, bytes: joined(parts) });
    this.#pending = new Map();
    return structuredClone(this.#opening.state);
  }

  async keep(state: LoadState): Promise<void> {
    const { keeping } = this.#opening;
    const grown = this.#flushed;
    let history;
    if (state.phase === 'finished') {
      history = await keeping.history();
      noteLoad(history, state, new Date().toISOString(), this.#rejectedIds);
    }
    await keeping.keep({ state, pieces: this.#kept }, grown, history);
    this.#kept += grown.length;
    this.#flushed = this.#flushed.slice(grown.length);
  }
}

/** `suppliers-rejects.csv` for suppliers.csv, so that the loader finds the kind by the name. */
export function rejectsNameOf(
  { path, sheet }: Pick<FileState, 'path' | 'sheet'>,
  { extension }: RejectsForm,
): string {
  const name = path.replace(/\.gz$/i, '').replace(/\.\w+$/, '');
  return `${name}${sheet === undefined ? '' : `-${sheet}`}-rejects${extension}`;
}
