// One POST, from its sending to the end of its answer, within one deadline and one bound on bytes (answer-bounds.ts).
// The HTTP client's own time-outs start afresh with every byte of a slow answer; this deadline does not.
//
//   when a connection breaks                          what follows
//   ────────────────────────────────────────────────  ─────────────────────────────────────────────────────────
//   before it is open                                 no byte was sent: the next address of the name may be tried
//   while it is kept open, before a byte of the       the receiver has closed it: the request is sent on another
//   request is written                                connection
//   later                                             the attempt fails: the receiver may have the request
//
// One timer checks the deadlines of all POSTs in flight: a timer for each POST would cost more than the signature of the POST.
import { openWatch } from '@integration-sync/runtime/watch';
import type { Dispatcher } from 'undici';
import { refuseInformational } from './answer-bounds.ts';
import type { Connections } from './receiver-connections.ts';
import {
  faultOfOurs,
  isHangUp,
  type Outcome,
  outcomeOfAnswer,
  outcomeOfSilence,
  retryAfterMsOf,
  textOfBody,
  TimedOut,
  timedOut,
  withChunk,
} from './attempt-outcome.ts';

export interface Post {
  dispatcher: Dispatcher;
  origin: string;
  path: string;
  headers: string[];
  body: Uint8Array;
  /** The caller's headers, as flat name-value pairs. An answer may repeat their values, which the attempt log masks. */
  secretHeaders: readonly string[];
  endsBy: number;
  /** When a POST that has no connection yet is given up, by `performance.now()`. */
  connectBy: number;
  /** Aborts the POST, within 50 ms. */
  signal: AbortSignal;
}

interface Posted {
  outcome: Outcome;
  /** Whether a connection was made. If not, no byte was sent. */
  connected: boolean;
}

export type Poster = ReturnType<typeof openPoster>;

const watchMs = 50;

export function openPoster(connections: Pick<Connections, 'isOfConnecting'>) {
  const inFlight = new Set<Posting>();
  const look = (): void => {
    const now = performance.now();
    for (const posting of inFlight) posting.look(now);
  };
  const watch = openWatch(watchMs, () => {
    // The deadlines are checked after sockets are read: if the process was frozen, answers may wait in the sockets.
    setImmediate(look);
    return inFlight.size > 0;
  });

  return {
    /** Sends a POST. Rejects if this service causes a failure, or aborts the POST. Every other failure is an outcome. */
    post(post: Post): Promise<Posted> {
      const posting = new Posting(post, connections, inFlight);
      // The attempt may have been aborted while the name of the receiver was resolved.
      if (post.signal.aborted) posting.cutOff();
      else posting.begin();
      watch.begin();
      return posting.posted;
    },
    [Symbol.dispose](): void {
      watch[Symbol.dispose]();
    },
  };
}

/** The handler of one POST, for the HTTP client. It is a class, because it costs time to create eight functions for each POST. */
class Posting implements Dispatcher.DispatchHandler {
  readonly #posted = Promise.withResolvers<Posted>();
  readonly #post: Post;
  readonly #connections: Pick<Connections, 'isOfConnecting'>;
  readonly #inFlight: Set<Posting>;
  /** The controller of the request; undefined until the request is written. */
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #informational = 0;
  #retryAfter: unknown;
  #body: Buffer = Buffer.alloc(0);

  constructor(post: Post, connections: Pick<Connections, 'isOfConnecting'>, inFlight: Set<Posting>) {
    this.#post = post;
    this.#connections = connections;
    this.#inFlight = inFlight;
    inFlight.add(this);
  }

  get posted(): Promise<Posted> {
    return this.#posted.promise;
  }

  begin(): void {
    const { dispatcher, origin, path, headers, body } = this.#post;
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
    try {
      dispatcher.dispatch({ origin, path, method: 'POST', headers, body: bytes }, this);
    } catch (error) {
      this.end(error);
    }
  }

  look(now: number): void {
    if (this.#post.signal.aborted) this.cutOff();
    else if (this.#post.endsBy <= now) this.giveUp();
    else if (this.#controller === undefined && this.#post.connectBy <= now)
      // The name has further addresses.
      this.end(new TimedOut('timeout: no connection'));
  }

  giveUp(reason: Error = new TimedOut(timedOut)): void {
    this.end(reason);
    this.#controller?.abort(reason);
  }

  cutOff(): void {
    this.#posted.reject(this.#post.signal.reason);
    this.giveUp();
  }

  /** Ends the POST with an outcome. Only the first call has an effect. */
  end(broken: unknown): void {
    const status = this.#status;
    const outcome = status === undefined ? outcomeOfSilence(broken) : this.#outcomeOf(status, broken);
    this.#inFlight.delete(this);
    this.#posted.resolve({ outcome, connected: this.#controller !== undefined });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The request is aborted if the deadline passed while the POST waited for a connection.
    if (!this.#inFlight.has(this)) controller.abort(new TimedOut(timedOut));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status >= 200) {
      this.#status = status;
      this.#retryAfter = headers['retry-after'];
      return;
    }
    this.#informational += 1;
    const refusal = refuseInformational(this.#informational);
    if (refusal !== undefined) this.giveUp(refusal);
  }

  /** Collects the begin of each body. Only the body of a failed answer is shown, but an answer may still fail at its end. */
  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#body = withChunk(this.#body, chunk);
  }

  onResponseEnd(): void {
    this.end(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // An error after the POST was given up is ignored.
    if (!this.#inFlight.has(this)) return;
    const fault = faultOfOurs(error);
    if (fault !== undefined) this.#posted.reject(fault);
    const isUnsent = this.#controller === undefined && fault === undefined;
    // The kept connection broke before the request was written. The HTTP client drops that connection before the next dispatch.
    if (isUnsent && !this.#connections.isOfConnecting(error) && isHangUp(error))
      queueMicrotask(() => this.begin());
    else this.end(error);
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

  #outcomeOf(status: number, broken: unknown): Outcome {
    const outcome = outcomeOfAnswer(status, broken);
    if (outcome.verdict === 'succeeded') return outcome;
    const retryAfterMs = retryAfterMsOf(status, this.#retryAfter, Date.now());
    const body = textOfBody(this.#body, this.#post.secretHeaders);
    return { ...outcome, answer: { retryAfterMs, body } };
  }
}
