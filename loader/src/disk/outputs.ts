// The files that a load writes: rejected rows of each input file, results of all rows, deferred rows and rejected ids.
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { utf8Bytes } from '../core/bytes.ts';
import type { RejectsForm } from '../core/reading/source.ts';
import { DeferredRows, type DeferredEntry } from '../core/sending/deferred.ts';
import type { LoadOutputs } from '../core/sending/loading.ts';
import { resultsHead, resultsLine } from '../core/sending/results.ts';
import { Output } from './rows-file.ts';
import type { Slot } from '../core/sending/slots.ts';
import type { FileState, LoadState } from '../core/sending/state.ts';
import { deferredFile, rejectedIdsFile } from './state-file.ts';

export class Outputs implements LoadOutputs, AsyncDisposable {
  /** The deferred rows; undefined if no state is saved, as in a plan. */
  readonly deferred: DeferredRows | undefined;
  readonly #state: LoadState;
  readonly #results: Output | undefined;
  readonly #deferredLog: Output | undefined;
  readonly #rejectedIds: Output | undefined;
  readonly #rejects = new Map<FileState, Output>();

  private constructor(
    state: LoadState,
    results: Output | undefined,
    kept?: { deferred: DeferredRows; deferredLog: Output; rejectedIds: Output },
  ) {
    this.#state = state;
    this.#results = results;
    this.deferred = kept?.deferred;
    this.#deferredLog = kept?.deferredLog;
    this.#rejectedIds = kept?.rejectedIds;
    for (const file of state.files) {
      if (file.rejects !== undefined)
        this.#rejects.set(file, Output.at(file.rejects.path, file.rejects.bytes));
    }
  }

  /** `folder` is the folder of the state; without it nothing is stored for a resumed load. */
  static async open(state: LoadState, folder: string | undefined, isResumed: boolean): Promise<Outputs> {
    const results =
      state.results && Output.at(state.results.path, isResumed ? state.results.bytes : undefined);
    if (results?.bytes === 0) results.write(utf8Bytes(resultsHead));
    if (folder === undefined) return new Outputs(state, results);
    const idsBytes = isResumed ? state.rejectedIdsBytes : undefined;
    const deferredBytes = isResumed ? state.deferredBytes : undefined;
    return new Outputs(state, results, {
      ...(await openDeferred(join(folder, deferredFile), deferredBytes)),
      rejectedIds: Output.at(join(folder, rejectedIdsFile), idsBytes),
    });
  }

  result(file: FileState, slot: Pick<Slot, 'row' | 'id' | 'internalId' | 'status'>): void {
    this.#results?.write(utf8Bytes(resultsLine(basename(file.path), slot)));
  }

  reject(file: FileState, form: RejectsForm, slot: Pick<Slot, 'row' | 'raw' | 'id'>, reason: string): void {
    if (slot.id !== '') this.#rejectedIds?.write(Buffer.from(`${JSON.stringify([file.kind, slot.id])}\n`));
    if (this.#state.rejectsFolder === undefined) return;
    let output = this.#rejects.get(file);
    if (output === undefined) {
      const name = basename(file.path)
        .replace(/\.gz$/i, '')
        .replace(/\.\w+$/, '');
      output = Output.fresh(this.#state.rejectsFolder, name === '-' ? file.kind : name, form.extension);
      this.#rejects.set(file, output);
    }
    if (output.bytes === 0) output.write(form.head);
    output.write(form.line({ raw: slot.raw, number: slot.row }, reason));
  }

  /** Whether an input file has rejected rows, but the file for its rejected rows is not created yet. */
  get hasNewRejects(): boolean {
    return [...this.#rejects.keys()].some(({ rejects }) => rejects === undefined);
  }

  /** Creates the missing files for rejected rows, without rows. */
  async openRejects(): Promise<void> {
    for (const [file, output] of this.#rejects) file.rejects ??= { path: await output.open(), bytes: 0 };
  }

  /** Writes all pending rows. Resolves with the state at the time of the call: all rows that it counts are now written. */
  async flush(): Promise<LoadState> {
    const state = structuredClone(this.#state);
    if (state.results !== undefined) state.results.bytes = this.#results?.bytes ?? 0;
    state.deferredBytes = this.#deferredLog?.bytes ?? 0;
    state.rejectedIdsBytes = this.#rejectedIds?.bytes ?? 0;
    for (const [index, { rejects }] of state.files.entries()) {
      const file = this.#state.files[index];
      const output = file && this.#rejects.get(file);
      if (rejects !== undefined && output !== undefined) rejects.bytes = output.bytes;
    }
    for (const output of this.#all()) await output.flush();
    return state;
  }

  #all(): Output[] {
    const kept = [this.#results, this.#deferredLog, this.#rejectedIds];
    return [...this.#rejects.values(), ...kept.filter((one) => one !== undefined)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const output of this.#all()) await output[Symbol.asyncDispose]();
  }
}

/** Opens the log of deferred rows. With `bytes`, reads its first `bytes`: the rows that an interrupted load deferred. */
async function openDeferred(
  path: string,
  bytes: number | undefined,
): Promise<{ deferred: DeferredRows; deferredLog: Output }> {
  const deferredLog = Output.at(path, bytes);
  const entries: DeferredEntry[] = [];
  if (bytes !== undefined && bytes > 0) {
    // Rows after `bytes` are not read: the resumed load sends them again, and the last line may be incomplete.
    await deferredLog.open();
    const kept = (await readFile(path)).subarray(0, bytes).toString();
    for (const line of kept.split('\n')) if (line !== '') entries.push(JSON.parse(line));
  }
  return { deferred: new DeferredRows(deferredLog, entries), deferredLog };
}
