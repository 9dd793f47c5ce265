// A child process that is kept running: an engine or a service. It has a session of its own, so that a Ctrl-C
// in the terminal reaches the supervisor alone, which decides in which order things stop.
//
//   state     meaning                                            what an exit leads to
//   down      never started                                      –
//   starting  spawned, its line of readiness not seen yet        waiting; the very first start fails instead
//   up        ready                                              waiting
//   waiting   dead, started again when its back-off is over      –
//   held      supervision is paused: a fault test wants it dead  held
//   stopped   stopped by the supervisor, for good                stopped
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { sendSignal } from './identity.ts';
import { messageOf } from './words.ts';

/** The pause before a restart doubles with every death, and is short again once the child has lived for `settledAfterMs`. */
export interface Backoff {
  firstMs: number;
  maxMs: number;
  settledAfterMs: number;
}

export interface ChildSpec {
  name: string;
  command: string;
  args: readonly string[];
  environment?: Readonly<NodeJS.ProcessEnv>;
  folder?: string;
  backoff: Backoff;
  /** The line of output that means "ready". Without it, a child is ready once it is spawned. */
  readyWhen?: RegExp;
  readyWithinMs?: number;
  stopSignal?: NodeJS.Signals;
  stopWithinMs?: number;
  /** The signal for a child that stops too slowly, sent a second before SIGKILL: the child stops immediately but cleanly. */
  hurrySignal?: NodeJS.Signals;
  /** Ends processes that the child may have left running. */
  afterStop?: () => Promise<void>;
  beforeStart?: () => Promise<void>;
  onLine?: (line: string) => void;
  onStart?: (pid: number) => void;
  onDeath?: (death: Death) => void;
  /** Called when the child is stopped for good, or was never up. */
  onStopped?: () => void;
}

export interface Death {
  how: string;
  lastLines: readonly string[];
  /** The pause before the next start; undefined if the supervisor will not start the child again. */
  againInMs: number | undefined;
}

/** The error if the child died before it was ever ready. */
export class ChildDied extends Error {
  override readonly name = 'ChildDied';
  readonly lastLines: readonly string[];

  constructor(message: string, lastLines: readonly string[]) {
    super(message);
    this.lastLines = lastLines;
  }
}

export interface Child extends AsyncDisposable {
  readonly name: string;
  /** The pid of the child; undefined while the child is dead. */
  pid(): number | undefined;
  /** Sends SIGKILL or another signal. The supervisor starts the child again, unless `hold` was called. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** From now on the supervisor does not restart the child. */
  hold(): void;
  /** Ends `hold`: the child is started if it is dead. Resolves when it is up. */
  resume(): Promise<void>;
  /** Stops the child in good order; the supervisor does not restart it. */
  stop(): Promise<void>;
}

/** Resolves when the child is up for the first time. The signal ends a start that is under way. */
export async function startChild(spec: ChildSpec, signal?: AbortSignal): Promise<Child> {
  signal?.throwIfAborted();
  const child = new SupervisedChild(spec);
  const giveUp = (): void => void child.stop();
  signal?.addEventListener('abort', giveUp);
  try {
    await child.start();
    return child;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

/** How a held child ends that was asked to end, which does not count as a death. */
const inGoodOrder = 'exit code 0';

const linesKept = 40;
const lastWordsMs = 100;
const hurryMs = 1_000;

class SupervisedChild implements Child {
  readonly #spec: ChildSpec;
  #state: 'down' | 'starting' | 'up' | 'waiting' | 'held' | 'stopped' = 'down';
  #process: ChildProcess | undefined;
  #exit: Promise<unknown> = Promise.resolve();
  #upSince = 0;
  #deathsInARow = 0;
  #retry: NodeJS.Timeout | undefined;
  #lastLines: string[] = [];

  constructor(spec: ChildSpec) {
    this.#spec = spec;
  }

  get name(): string {
    return this.#spec.name;
  }

  pid(): number | undefined {
    return this.#process?.pid;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const pid = this.pid();
    if (pid === undefined) return;
    sendSignal(pid, signal);
    await this.#exit;
  }

  hold(): void {
    if (this.#state === 'stopped') return;
    clearTimeout(this.#retry);
    this.#state = 'held';
  }

  async resume(): Promise<void> {
    if (this.#state !== 'held') return;
    if (this.#process === undefined) await this.start();
    else this.#state = 'up';
  }

  async stop(): Promise<void> {
    const { stopSignal = 'SIGTERM', stopWithinMs = 10_000, hurrySignal } = this.#spec;
    clearTimeout(this.#retry);
    this.#state = 'stopped';
    const pid = this.pid();
    if (pid !== undefined) {
      sendSignal(pid, stopSignal);
      const sendLater = (signal: NodeJS.Signals, ms: number) => setTimeout(() => sendSignal(pid, signal), ms);
      const overdue = [sendLater('SIGKILL', stopWithinMs)];
      if (hurrySignal !== undefined) overdue.push(sendLater(hurrySignal, stopWithinMs - hurryMs));
      await this.#exit;
      for (const timer of overdue) clearTimeout(timer);
    }
    await this.#spec.afterStop?.();
    this.#spec.onStopped?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async start(): Promise<void> {
    this.#state = 'starting';
    try {
      await this.#spec.beforeStart?.();
      if (this.#isWanted()) await this.#spawn();
    } catch (error) {
      // The caller handles a failed first start. A later failed start counts as a death: once its process has exited, or
      // immediately if no process was spawned.
      const isFirst = this.#upSince === 0;
      const wanted = this.#isWanted();
      if (isFirst) this.#state = 'stopped';
      if (this.pid() !== undefined) await this.kill();
      else if (!isFirst && wanted) this.#died(messageOf(error));
      if (isFirst) this.#spec.onStopped?.();
      throw error;
    }
  }

  /** Reads the state anew after an await, during which hold() or stop() may have changed it. */
  #isWanted(): boolean {
    return this.#state === 'starting';
  }

  async #spawn(): Promise<void> {
    const { command, args, environment, folder, readyWhen, readyWithinMs = 30_000 } = this.#spec;
    const child = spawn(command, args, {
      cwd: folder,
      env: environment ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const ready = Promise.withResolvers<void>();
    ready.promise.catch(() => undefined); // If `onStart` throws, nobody awaits this promise.
    this.#lastLines = [];
    this.#process = child;
    this.#exit = this.#follow(child).then((how) => {
      ready.reject(new ChildDied(`${this.name} ended (${how}) before it was ready`, this.#lastLines));
    });
    if (child.pid !== undefined) this.#spec.onStart?.(child.pid);
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => {
        if (this.#lastLines.push(line) > linesKept) this.#lastLines.shift();
        this.#spec.onLine?.(line);
        if (readyWhen?.test(line)) ready.resolve();
      });
    }
    if (readyWhen === undefined && child.pid !== undefined) ready.resolve();
    const late = setTimeout(() => {
      ready.reject(
        new ChildDied(`${this.name} was not ready within ${readyWithinMs / 1_000} s`, this.#lastLines),
      );
      void this.kill();
    }, readyWithinMs);
    await ready.promise.finally(() => clearTimeout(late));
    this.#upSince = performance.now();
    if (this.#isWanted()) this.#state = 'up';
  }

  /** Resolves with how the child ended, after its death has been handled. */
  async #follow(child: ChildProcess): Promise<string> {
    const closed = once(child, 'close').catch(() => undefined);
    const how = await endOf(child);
    this.#process = undefined;
    // The last output of the child is read after its end. Its own children may keep the output open for longer.
    await Promise.race([closed, wait(lastWordsMs)]);
    this.#died(how);
    return how;
  }

  #died(how: string): void {
    const { firstMs, maxMs, settledAfterMs } = this.#spec.backoff;
    const wasUp = this.#state === 'up';
    if (this.#state === 'stopped' || (this.#state === 'held' && how === inGoodOrder)) return;
    const mended = this.#state !== 'held' && this.#upSince !== 0;
    if (wasUp && performance.now() - this.#upSince > settledAfterMs) this.#deathsInARow = 0;
    const againInMs = mended ? Math.min(firstMs * 2 ** this.#deathsInARow, maxMs) : undefined;
    this.#deathsInARow += 1;
    this.#spec.onDeath?.({ how, lastLines: this.#lastLines, againInMs });
    if (againInMs === undefined) return;
    this.#state = 'waiting';
    this.#retry = setTimeout(() => {
      // A failure is ignored here, because `start` has reported it and has set the time of the next try.
      this.start().catch(() => undefined);
    }, againInMs);
  }
}

/** Resolves with how the child ended; a child that could not be spawned counts as ended, too. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(error.message);
    });
  });
}
