// The state of *Load a file*: the chosen files, one check or load at a time, and what an interrupted load has left.
import { useFiles } from 'integration-sync/browser';
import {
  changed,
  isRejectsOf,
  isSavedAs,
  kinds,
  markOf,
  inWords,
  newFile,
  noteLoad,
  openSource,
  parseMap,
  placeOf,
  withRejectedIds,
  type FileState,
  type History,
  type LoadMap,
  type LoadState,
  type Source,
} from 'integration-sync/core';
import type { Access, Answer, Command, Correction, Rules, Shown } from '../protocol.ts';
import { Hashes } from './hashes.ts';
import { Keeping, lockOf, nowhereToKeep, type Kept } from './keeping.ts';
import { hold, holdFile, idOf, mapIn, mapOf, originalsOf, type Held } from './looking.ts';
import { KeptOutputs, PlanOutputs, ReasonCounts, rejectsLog, resultsLog } from './outputs.ts';
import { loadedIn, Pruning } from './pruning.ts';
import { Course } from './running.ts';
import { Service } from './service.ts';

/** How often the worker tells the page of the progress of a run. */
const tellEveryMs = 250;

interface Opened {
  access: Access;
  keeping: Keeping;
  service: Service;
}

export class Desk {
  readonly #post: (answer: Answer) => void;
  #opened: Opened | undefined;
  #files = new Map<string, File>();
  readonly #hashes = new Hashes();
  #held: Held[] = [];
  #corrections = 0;
  #map: LoadMap = new Map();
  #course: Course | undefined;
  #kept: Kept | undefined;
  #history: History = {};
  #isElsewhere = false;
  /** The files of the interrupted load that a person has chosen again, by their names in that load. */
  #again = new Map<string, File>();
  #pruning: Pruning | undefined;
  #refused: string[] = [];
  /** What the present command does, in words. */
  #busy: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(post: (answer: Answer) => void) {
    this.#post = post;
  }

  /** Commands are carried out one after the other, except those that must not wait for the end of a run. */
  perform(command: Command): void {
    if (command.do === 'stop') this.#course?.stop();
    else if (command.do === 'access') this.#opened?.service.use(command.access);
    else if (command.do === 'save') void this.#attempt(() => this.#save(command.what, command.file));
    else this.#last = this.#last.then(() => this.#attempt(() => this.#carryOut(command)));
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#refused = [...this.#refused, inWords(error)];
    }
    this.#show({ busy: undefined, refused: this.#refused });
  }

  async #carryOut(command: Exclude<Command, { do: 'stop' | 'access' | 'save' }>): Promise<void> {
    if (command.do !== 'begin') this.#refused = [];
    switch (command.do) {
      case 'begin':
        await this.#begin(command.url, command.slot, command.access);
        return;
      case 'choose':
        await this.#choose(command.files);
        return;
      case 'change':
        await this.#change(command).finally(() => this.#showEntries());
        return;
      case 'remove':
        this.#remove(command.id);
        return;
      case 'map':
        this.#map = await mapIn(command.file);
        this.#held = [];
        await this.#choose([...this.#files.values()]);
        return;
      case 'check':
        await this.#check();
        return;
      case 'load':
        await this.#locked(() => this.#load(command.autoCreateDDS));
        return;
      case 'go on':
        await this.#locked(() => this.#goOn());
        return;
      case 'forget':
        await this.#locked(() => this.#on.keeping.forget());
        await this.#readKept();
        return;
      case 'look for gone':
        this.#show({ busy: 'Looking for records that are not in the files …', gone: undefined });
        await this.#readKept();
        this.#pruning = new Pruning(this.#on.service, this.#on.access);
        this.#show({ gone: await this.#pruning.find(this.#history) });
        return;
      case 'archive':
        this.#show({ busy: 'Archiving …' });
        await this.#locked(async () =>
          this.#show({ gone: await this.#pruning?.archive(command.most, this.#history) }),
        );
    }
  }

  get #on(): Opened {
    if (this.#opened === undefined) throw nowhereToKeep();
    return this.#opened;
  }

  async #begin(url: string, slot: string, access: Access): Promise<void> {
    const keeping = await Keeping.open(slot);
    const service = new Service(access, {
      url,
      onEnded: (token) => this.#post({ ended: token }),
      onWaiting: (what) => {
        if (this.#course?.isUnderWay === true) this.#course.waiting = what;
        else this.#post({ shown: { busy: what ?? this.#busy } });
      },
    });
    this.#opened = { access, keeping, service };
    await this.#readKept();
    void this.#attempt(() => this.#waitForOthers());
  }

  /** A load that another tab carries out does not count as interrupted until that tab has ended it or is closed. */
  async #waitForOthers(): Promise<void> {
    const { locks }: { locks?: LockManager } = navigator;
    if (locks === undefined || (await locks.request(this.#lock, { ifAvailable: true }, Boolean))) return;
    this.#isElsewhere = true;
    this.#showKept();
    await locks.request(this.#lock, () => {
      this.#isElsewhere = false;
      return this.#readKept();
    });
  }

  get #lock(): string {
    return lockOf(this.#on.keeping.slot);
  }

  async #readKept(): Promise<void> {
    const { keeping } = this.#on;
    [this.#kept, this.#history] = await Promise.all([keeping.kept(), keeping.history()]);
    // Another tab may have begun a load of another file with the same name.
    for (const { path, hash } of this.#kept?.state.files ?? []) {
      const file = this.#again.get(path);
      if (file !== undefined && (await this.#hashes.of(file)) !== hash) this.#again.delete(path);
    }
    this.#showKept();
  }

  #showKept(): void {
    const state = this.#kept?.state;
    this.#show({
      isElsewhere: this.#isElsewhere,
      loaded: loadedIn(this.#history),
      kept:
        state === undefined || state.phase === 'finished' || this.#isElsewhere
          ? undefined
          : {
              startedAt: state.startedAt,
              files: state.files.map((file) => ({
                place: placeOf(file),
                row: file.row,
                isChosen: this.#again.has(file.path),
              })),
            },
    });
  }

  async #choose(files: readonly File[]): Promise<void> {
    const names = new Set<string>();
    for (const file of files) {
      if (names.has(file.name)) {
        this.#refused.push(`Two files are named ${file.name}: rename one of them.`);
        continue;
      }
      names.add(file.name);
      this.#show({ busy: `Reading ${file.name} …` });
      this.#files.set(file.name, file);
      useFiles(this.#files);
      this.#held = this.#held.filter(({ entry }) => entry.file !== file.name);
      try {
        await this.#recognize(file);
        const held = await holdFile(file.name, this.#map, this.#rulesOfRejects(file.name), this.#mend);
        for (const id of originalsOf(held, this.#held, names)) this.#remove(id);
        this.#held.push(...held);
      } catch (error) {
        this.#files.delete(file.name);
        this.#refused.push(inWords(error));
      }
      this.#showEntries();
    }
    this.#showKept();
  }

  /** Restores leading zeros that a spreadsheet has removed from the ids of rejected rows. */
  readonly #mend = (source: Source): Promise<Source> => withRejectedIds(source, this.#history);

  /** Rejected rows of the last load are read by the rules of the file that they come from. */
  #rulesOfRejects(name: string): Rules {
    const from = this.#kept?.state.files.find(
      ({ rejects }) => rejects !== undefined && isSavedAs(name, rejects.path),
    );
    return from === undefined ? {} : { ...from.rules, kind: from.kind };
  }

  /** Finds the file in the load that was interrupted, by its hash. */
  async #recognize(file: File): Promise<void> {
    const state = this.#kept?.state;
    if (state === undefined || state.phase === 'finished') return;
    const hash = await this.#hashes.of(file);
    const same = state.files.filter((one) => one.hash === hash);
    for (const { path } of same) this.#again.set(path, file);
    if (same.length === 0 && state.files.some(({ path }) => path === file.name))
      this.#refused.push(`${changed(file.name)}: Load begins anew.`);
  }

  async #change({ id, kind, rules, corrections }: Correction): Promise<void> {
    this.#corrections = corrections;
    const at = this.#held.findIndex(({ entry }) => entry.id === id);
    const before = this.#held[at];
    if (before === undefined) return;
    this.#show({ busy: `Reading ${before.entry.file} …` });
    // Throws, as for a wrong map, if no map may have these rules; the page then shows the entry as it was before.
    parseMap({ [id]: rules }, 'of this page');
    const input = { ...before.input, kind: kind ?? before.input.kind, rules };
    this.#held[at] = await hold(input, kind, this.#mend, before);
  }

  #remove(id: string): void {
    const gone = this.#held.find(({ entry }) => entry.id === id)?.entry.file ?? '';
    this.#held = this.#held.filter(({ entry }) => entry.id !== id);
    if (!this.#held.some(({ entry }) => entry.file === gone)) this.#files.delete(gone);
    this.#showEntries();
  }

  #showEntries(): void {
    this.#show({ entries: this.#held.map(({ entry }) => entry), corrections: this.#corrections });
  }

  /** What can be loaded, in the order of loading. */
  #ready(): Source[] {
    return this.#held
      .flatMap(({ entry, source }) => (entry.kind === undefined || source === undefined ? [] : [source]))
      .toSorted((one, other) => kinds.indexOf(one.input.kind) - kinds.indexOf(other.input.kind));
  }

  async #newState(autoCreateDDS: boolean, isPlan: boolean): Promise<LoadState> {
    const files: FileState[] = [];
    for (const { input, isRejects } of this.#ready()) {
      const file = this.#files.get(input.path);
      const hash = isPlan || file === undefined ? '' : await this.#hashes.of(file);
      files.push(newFile(input, hash, isRejects || isRejectsOf(this.#history, input)));
    }
    return {
      version: 1,
      url: this.#on.service.url,
      integration: this.#on.access.integration,
      phase: 'loading',
      startedAt: new Date().toISOString(),
      autoCreateDDS,
      rejectsFolder: undefined,
      files,
      results: isPlan ? undefined : { path: 'results.csv', bytes: 0 },
      deferredBytes: 0,
      rejectedIdsBytes: 0,
      marks: {},
    };
  }

  async #check(): Promise<void> {
    const state = await this.#newState(false, true);
    const reasons = new ReasonCounts();
    const outputs = new PlanOutputs(state, reasons);
    await this.#run({ isPlan: true, state, sources: this.#ready(), outputs, reasons, keep: undefined });
  }

  async #load(autoCreateDDS: boolean): Promise<void> {
    const { keeping, service } = this.#on;
    this.#show({ busy: 'Beginning …' });
    const state = await this.#newState(autoCreateDDS, false);
    const client = service.client(new AbortController().signal);
    for (const kind of new Set(state.files.map((file) => file.kind))) {
      const mark = await markOf(client, kind);
      if (mark !== undefined) state.marks[kind] = mark;
    }
    await keeping.forget();
    this.#again = new Map(this.#files);
    noteLoad(this.#history, state, undefined, new Map());
    await keeping.keep({ state, pieces: 0 }, [], this.#history);
    const course = await this.#runKept(state, this.#ready(), 0);
    const isUntouched = state.files.every(({ counts }) => counts.unchanged === 0);
    if (state.phase !== 'finished' && !course.hasStored && isUntouched) {
      // The service has stored no row, so an interrupted load of these files need not be resumed.
      await keeping.forget();
      for (const file of state.files) file.rejects = undefined;
    }
    await this.#readKept();
  }

  async #goOn(): Promise<void> {
    const kept = this.#kept;
    if (kept === undefined) return;
    this.#show({ busy: 'Reading the files again …' });
    useFiles(this.#again);
    try {
      const sources: Source[] = [];
      for (const file of kept.state.files) sources.push(await this.#mend(await openSource(file)));
      await this.#runKept(kept.state, sources, kept.pieces);
    } finally {
      useFiles(this.#files);
      await this.#readKept();
    }
  }

  async #runKept(state: LoadState, sources: readonly Source[], pieces: number): Promise<Course> {
    const reasons = new ReasonCounts();
    const outputs = await KeptOutputs.open({ keeping: this.#on.keeping, state, reasons }, pieces);
    return this.#run({ isPlan: false, state, sources, outputs, reasons, keep: outputs.keep.bind(outputs) });
  }

  async #run(running: ConstructorParameters<typeof Course>[0]): Promise<Course> {
    const course = new Course(running, () => this.#tellSoon());
    this.#course = course;
    this.#pruning = undefined;
    this.#show({ busy: undefined, gone: undefined, run: course.shown() });
    await course.run(this.#on.service);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#show({ run: course.shown() });
    return course;
  }

  #tellSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#show({ run: this.#course?.shown() });
    }, tellEveryMs);
  }

  /** One tab at a time loads an integration's files. */
  async #locked(work: () => Promise<void>): Promise<void> {
    const { locks }: { locks?: LockManager } = navigator;
    if (locks === undefined) return work();
    return locks.request(this.#lock, { ifAvailable: true }, async (lock) => {
      if (lock === null)
        throw new Error('Another tab loads files of this integration: wait until it has ended.');
      // The other tab may have stored a newer state of the load.
      await this.#readKept();
      await work();
    });
  }

  async #save(what: 'results' | 'rejects' | 'map', file: string): Promise<void> {
    if (what === 'map') {
      const map = mapOf(this.#held.map(({ entry }) => entry));
      this.#post({ saved: new Blob([JSON.stringify(map, undefined, 2), '\n']), name: 'map.json' });
      return;
    }
    const { startedAt, files = [] } = (await this.#on.keeping.kept())?.state ?? {};
    // Another tab may have carried out a load since.
    if (startedAt !== this.#course?.startedAt)
      throw new Error('The browser does not keep the rows of this load any more.');
    const at = files.findIndex((one) => idOf(one) === file);
    const pieces = await this.#on.keeping.log(what === 'results' ? resultsLog : rejectsLog(at));
    const name = what === 'results' ? 'results.csv' : (files[at]?.rejects?.path ?? 'rejects.csv');
    this.#post({ saved: new Blob(pieces), name });
  }

  #show(shown: Partial<Shown>): void {
    if ('busy' in shown) this.#busy = shown.busy;
    this.#post({ shown });
  }
}
