// One POST: sent, answered, and read to its end or to a bound, all within one deadline. The HTTP client's own
// time-outs start afresh with every byte of a slow answer; this one does not.
//
// A receiver may close a connection that it has kept open at any time, also in the moment in which a request is on
// its way to it. That says nothing of the receiver, so the request is made once more, on the next connection.
//
// One watch looks after all that are in flight: a timer for each of them would cost more than signing it does.
import type { Dispatcher } from 'undici';
import type { Connections } from './connections.ts';
import {
  DeadlinePassed,
  faultOfOurs,
  isHangUp,
  outcomeOfAnswer,
  outcomeOfSilence,
  type Outcome,
} from './outcome.ts';

export interface Post {
  dispatcher: Dispatcher;
  origin: string;
  path: string;
  headers: string[];
  body: Uint8Array;
  /** By `performance.now()`. */
  endsBy: number;
}

export interface Poster extends Disposable {
  /** Whatever goes wrong is an outcome, unless it is our own fault or the process stops: then it rejects. */
  post(post: Post): Promise<Outcome>;
}

/** Nothing in an answer's body matters, so no more of it is read than shows that it comes. */
const answerBytesMax = 64 * 1024;
const watchMs = 50;
/** A watch that comes so late has stood still with the whole process, while receivers went on. */
const standstillMs = 500;

export function openPoster(stop: AbortSignal, connections: Pick<Connections, 'opening'>): Poster {
  const inFlight = new Set<Posting>();
  const look = (): void => {
    const now = performance.now();
    for (const posting of inFlight) if (posting.endsBy <= now) posting.giveUp();
  };
  let watchedAt = performance.now();
  const watch = setInterval(() => {
    const before = watchedAt;
    watchedAt = performance.now();
    // Answers that came meanwhile are there and still to be read.
    if (watchedAt - before > standstillMs) setImmediate(look);
    else look();
  }, watchMs);
  const onStop = (): void => {
    for (const posting of inFlight) posting.stop(stop.reason);
  };
  stop.addEventListener('abort', onStop);

  return {
    post({ dispatcher, origin, path, headers, body, endsBy }) {
      const request: Dispatcher.DispatchOptions = {
        origin,
        path,
        method: 'POST',
        headers,
        body: Buffer.from(body.buffer, body.byteOffset, body.length),
      };
      const posting = new Posting({ dispatcher, request, endsBy, inFlight, connections });
      // It may have stopped while it was asked where the receiver's name leads to.
      if (stop.aborted) posting.stop(stop.reason);
      else posting.begin();
      return posting.outcome;
    },
    [Symbol.dispose]() {
      clearInterval(watch);
      stop.removeEventListener('abort', onStop);
    },
  };
}

interface PostingOptions {
  dispatcher: Dispatcher;
  request: Dispatcher.DispatchOptions;
  endsBy: number;
  inFlight: Set<Posting>;
  connections: Pick<Connections, 'opening'>;
}

/** Hears from the HTTP client how it goes. In a class, because eight functions for each POST take their time. */
class Posting implements Dispatcher.DispatchHandler {
  readonly endsBy: number;
  readonly outcome: Promise<Outcome>;
  readonly #options: PostingOptions;
  #resolve!: (outcome: Outcome) => void;
  #reject!: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  /** Whether its connection has served before. */
  #isKept = false;
  #status: number | undefined;
  #bytes = 0;

  constructor(options: PostingOptions) {
    this.endsBy = options.endsBy;
    this.#options = options;
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    options.inFlight.add(this);
  }

  begin(): void {
    const { dispatcher, request } = this.#options;
    this.#isKept = false;
    try {
      dispatcher.dispatch(request, this);
    } catch (error) {
      this.end(error);
    }
  }

  giveUp(): void {
    const passed = new DeadlinePassed();
    this.end(passed);
    this.#controller?.abort(passed);
  }

  stop(reason: unknown): void {
    this.#reject(reason);
    this.giveUp();
  }

  end(broken: unknown): void {
    this.#settle(
      this.#status === undefined ? outcomeOfSilence(broken) : outcomeOfAnswer(this.#status, broken),
    );
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#isKept = !this.#options.connections.opening;
    // The deadline passed while it waited for its connection.
    if (!this.#options.inFlight.has(this)) controller.abort(new DeadlinePassed());
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status >= 200) this.#status = status;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= answerBytesMax || this.#status === undefined) return;
    this.#settle(outcomeOfAnswer(this.#status));
    controller.abort(new Error('enough of the answer was read'));
  }

  onResponseEnd(): void {
    this.end(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isKept && this.#status === undefined && isHangUp(error)) {
      // The HTTP client must be done with the connection first.
      queueMicrotask(() => this.begin());
      return;
    }
    const fault = faultOfOurs(error);
    if (fault !== undefined) this.#reject(fault);
    this.end(error);
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    socket: { destroy(): void },
  ): void {
    this.#status = status;
    this.end(undefined);
    socket.destroy();
  }

  /** Only the first time matters. */
  #settle(outcome: Outcome): void {
    this.#options.inFlight.delete(this);
    this.#resolve(outcome);
  }
}
