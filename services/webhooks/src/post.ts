// One POST: sent, answered, and read to its end or to a bound, all within one deadline. The HTTP client's own
// time-outs start afresh with every byte of a slow answer; this one does not.
import type { Dispatcher } from 'undici';
import { DeadlinePassed, faultOfOurs, outcomeOfAnswer, outcomeOfSilence, type Outcome } from './outcome.ts';

export interface Post {
  dispatcher: Dispatcher;
  origin: string;
  path: string;
  headers: string[];
  body: Uint8Array;
  deadlineMs: number;
  /** Ends it early, because the process stops. */
  signal?: AbortSignal | undefined;
}

/** Nothing in an answer's body matters, so no more of it is read than shows that it comes. */
const answerBytesMax = 64 * 1024;

/** Whatever goes wrong is an outcome, unless it is our own fault or the signal ends it: then it rejects. */
export function post({
  dispatcher,
  origin,
  path,
  headers,
  body,
  deadlineMs,
  signal,
}: Post): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  let controller: Dispatcher.DispatchController | undefined;
  let status: number | undefined;
  let bytes = 0;
  let settled = false;

  const settle = (outcome: Outcome): void => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
    resolve(outcome);
  };
  const end = (broken: unknown): void =>
    settle(status === undefined ? outcomeOfSilence(broken) : outcomeOfAnswer(status, broken));

  const timer = setTimeout(() => {
    const passed = new DeadlinePassed();
    end(passed);
    controller?.abort(passed);
  }, deadlineMs);
  const giveUp = (): void => {
    reject(signal?.reason);
    end(signal?.reason);
    controller?.abort(new DeadlinePassed());
  };
  signal?.addEventListener('abort', giveUp);

  try {
    dispatcher.dispatch(
      { origin, path, method: 'POST', headers, body: Buffer.from(body.buffer, body.byteOffset, body.length) },
      {
        onRequestStart(started) {
          controller = started;
          // The deadline passed while it waited for its connection.
          if (settled) started.abort(new DeadlinePassed());
        },
        onResponseStart(_controller, answered) {
          if (answered >= 200) status = answered;
        },
        onResponseData(reading, chunk) {
          bytes += chunk.length;
          if (bytes <= answerBytesMax || status === undefined) return;
          settle(outcomeOfAnswer(status));
          reading.abort(new Error('enough of the answer was read'));
        },
        onResponseEnd: () => end(undefined),
        onResponseError(_controller, error) {
          const fault = faultOfOurs(error);
          if (fault !== undefined) reject(fault);
          end(error);
        },
        onRequestUpgrade(_controller, answered, _headers, socket) {
          status = answered;
          end(undefined);
          socket.destroy();
        },
      },
    );
  } catch (error) {
    end(error);
  }
  return promise;
}
