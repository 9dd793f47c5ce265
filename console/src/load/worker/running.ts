// Runs one check or one load of files, in the order of the loader, and tells the page of the progress.
import {
  Loading,
  messageOf,
  inWords,
  PlannedIds,
  planItems,
  placeOf,
  pushItems,
  type LoadOutputs,
  type LoadState,
  type Source,
} from 'integration-sync/core';
import type { Run } from '../protocol.ts';
import { idOf } from './looking.ts';
import type { ReasonCounts } from './outputs.ts';
import type { Service } from './service.ts';

/** The most pushes in flight: a browser has six connections to a host, unless a proxy speaks HTTP/2. */
const inFlightMax = 8;
/** The page shows how many rows a second the run handled within this last span. */
const rateMs = 10_000;

export interface Running {
  isPlan: boolean;
  state: LoadState;
  sources: readonly Source[];
  outputs: LoadOutputs;
  reasons: ReasonCounts;
  /** Stores the state of a load; undefined for a check. */
  keep: ((state: LoadState) => Promise<void>) | undefined;
}

export class Course {
  readonly #running: Running;
  readonly #tell: () => void;
  readonly #interrupt = new AbortController();
  /** Its abort ends the run's requests in flight. */
  readonly #abort = new AbortController();
  readonly #begunAt = performance.now();
  #endedAt: number | undefined;
  #at: { ms: number; rows: number }[] = [];
  #stage: Run['state'] = 'under way';
  #problem: string | undefined;
  #waiting: string | undefined;
  hasStored = false;

  constructor(running: Running, tell: () => void) {
    this.#running = running;
    this.#tell = tell;
  }

  /** When the run began; for a load that goes on, when the load began. */
  get startedAt(): string {
    return this.#running.state.startedAt;
  }

  get isUnderWay(): boolean {
    return this.#endedAt === undefined;
  }

  set waiting(what: string | undefined) {
    if (what === this.#waiting) return;
    this.#waiting = what;
    this.#tell();
  }

  /** Waits for pushes in flight; a second call, or a call while the service does not answer, aborts them. */
  stop(): void {
    if (this.#waiting !== undefined || this.#interrupt.signal.aborted) this.#abort.abort();
    this.#interrupt.abort();
    this.#stage = 'stopping';
    this.#tell();
  }

  async run(service: Service): Promise<void> {
    const { isPlan, state, sources, outputs, keep } = this.#running;
    const client = service.client(this.#abort.signal);
    const planned = new PlannedIds();
    const loading = new Loading({
      state,
      sources,
      outputs,
      keep,
      send: isPlan ? planItems(client, planned) : pushItems(client, state.autoCreateDDS),
      inFlightMax,
      interrupt: this.#interrupt.signal,
      ...(isPlan ? { accepted: planned.add.bind(planned) } : {}),
      progressed: () => this.#tell(),
    });
    try {
      await loading.run();
      this.#stage = 'finished';
    } catch (error) {
      this.#stage = 'stopped';
      if (!this.#interrupt.signal.aborted) this.#problem = inWords(error);
      await loading.save().catch((failure: unknown) => (this.#problem ??= messageOf(failure)));
    }
    this.hasStored = loading.hasStored;
    this.#endedAt = performance.now();
    this.#waiting = undefined;
  }

  shown(): Run {
    const { isPlan, state, sources, reasons } = this.#running;
    const now = this.#endedAt ?? performance.now();
    const rows = state.files.reduce(
      (sum, file, at) => sum + Math.max(file.row - (sources[at]?.rowsBefore ?? 0), 0),
      0,
    );
    const totals = sources.map(({ total }) => total);
    this.#at.push({ ms: now, rows });
    this.#at = this.#at.filter(({ ms }) => now - ms < rateMs);
    const [first] = this.#at;
    const ms = first === undefined ? 0 : now - first.ms;
    const whole = totals.every((total) => total !== undefined);
    return {
      isPlan,
      state: this.#stage,
      rows,
      total: whole ? totals.reduce((sum, total) => sum + total, 0) : undefined,
      perSecond: first === undefined || ms < 1_000 ? undefined : ((rows - first.rows) * 1_000) / ms,
      seconds: (now - this.#begunAt) / 1_000,
      files: state.files.map((file) => ({
        file: idOf(file),
        place: placeOf(file),
        kind: file.kind,
        rejects: file.rejects?.path,
        counts: { ...file.counts },
      })),
      reasons: reasons.first(),
      problem: this.#problem,
      waiting: this.#waiting,
    };
  }
}
