// Makes one call: waits until the rate limit allows it, sends it, and repeats it after 429, 502, 503, 504 or a broken
// connection. Repeating a push is safe: the same push again leaves the same records.
import type { Answer, Call, Send } from './call.ts';
import type { Authorization } from './credentials.ts';
import { RequestFailed, Unreachable } from './errors.ts';
import { openPacer } from './rate-limit.ts';
import { unlessAborted, wait } from './waiting.ts';

export interface ExchangeOptions {
  /** The address of the service, such as `https://sync.example.com`. */
  baseUrl: string;
  fetch?: typeof fetch;
  /** For how long a call is repeated before it fails: five minutes by default. */
  patienceMs?: number;
  signal?: AbortSignal;
}

/** The time-out of one attempt: longer than the service takes to answer, which is 30 s at most. */
const answerMsMax = 40_000;
const backOffMs = { first: 250, max: 20_000 };
const patienceMsDefault = 5 * 60_000;

/** Statuses after which a call is repeated. A proxy answers 502 while a gateway is replaced. */
const askForPatience: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** `authorize` makes the header `Authorization`; it may fetch a token by its parameter. */
export function openExchange(options: ExchangeOptions, authorize: (post: Send) => Authorization): Send {
  const { fetch: fetchFrom = fetch, patienceMs = patienceMsDefault } = options;
  const root = options.baseUrl.replace(/(?<!\/)\/+$/, '').replace(/\/api\/v1\/integration$/, '');
  const pacer = openPacer();

  /** A signal that is aborted when the signal of the call or the signal of the client is aborted. */
  const signalOf = (call: Call): AbortSignal | undefined => {
    const signals = [call.signal, options.signal].filter((one) => one !== undefined);
    return signals.length > 1 ? AbortSignal.any(signals) : signals[0];
  };

  const attempt = async (call: Call, until: number, authorization?: string) => {
    const window = await pacer.turn(signalOf(call), until);
    const sentAt = performance.now();
    const signals = [call.signal, options.signal, AbortSignal.timeout(answerMsMax)];
    const response = await fetchFrom(`${root}${call.path}`, {
      method: call.method,
      headers: { ...(authorization === undefined ? {} : { authorization }), ...call.headers },
      ...(call.body === undefined ? {} : { body: call.body }),
      redirect: 'manual',
      signal: AbortSignal.any(signals.filter((one) => one !== undefined)),
    });
    pacer.learn(window, response.headers, sentAt);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };

  /**
   * Makes one attempt. Returns the answer, or the reason to repeat the call. Throws an error that a repetition would not change.
   */
  const attemptOr = async <Body>(call: Call, until: number, value?: string): Promise<Outcome<Body>> => {
    const what = `${call.method} ${call.path.split('?')[0]}`;
    try {
      const { status, headers, text } = await attempt(call, until, value);
      if (status >= 200 && status < 300 && !isPage(call, status, text)) return answerOf(headers, text);
      const error = new RequestFailed(what, status, headers, text);
      if (!askForPatience.has(status) || (call.once === true && status !== 429)) throw error;
      const afterMs = Number.parseFloat(headers.get('retry-after') ?? '') * 1_000 || 0;
      if (status === 429) pacer.hold(performance.now() + afterMs);
      return { error, isRefused: status === 429, afterMs };
    } catch (cause) {
      if (cause instanceof RequestFailed || cause instanceof Unreachable) throw cause;
      call.signal?.throwIfAborted();
      options.signal?.throwIfAborted();
      const error = new Unreachable(`${what}: ${root} does not answer${reasonOf(cause)}`, { cause });
      if (call.once === true) throw error;
      return { error, isRefused: false, afterMs: 0 };
    }
  };

  const repeat = async <Body>(call: Call, authorization?: Authorization): Promise<Answer<Body>> => {
    const until = performance.now() + patienceMs;
    const signal = signalOf(call);
    let isRenewed = false;
    /** Whether an earlier attempt of this call may have had an effect: an attempt that got no answer, or 502, 503 or 504. */
    let mayBeDone = false;
    for (let failures = 0; ; failures += 1) {
      // An abort of this call ends only its own wait for the token, because other calls may wait for the same token.
      const value = authorization && (await unlessAborted(authorization.value(), signal));
      const outcome = await attemptOr<Body>(call, until, value).catch((error: unknown) => {
        if (mayBeDone && isGone(call, error)) return answerOf<Body>(new Headers(), '');
        if (isRenewed || value === undefined || !isUnauthorized(error)) throw error;
        isRenewed = authorization?.renew(value) ?? false;
        if (!isRenewed) throw error;
        return undefined;
      });
      if (outcome === undefined) continue;
      if (!('error' in outcome)) return outcome;
      mayBeDone ||= !outcome.isRefused;
      // After a 429 with Retry-After, the pacer delays the next attempt.
      const waitMs =
        outcome.isRefused && outcome.afterMs > 0 ? 0 : Math.max(backOff(failures), outcome.afterMs);
      if (performance.now() + Math.max(waitMs, outcome.afterMs) > until) {
        throw new Unreachable(outcome.error.message, { cause: outcome.error });
      }
      call.repeated?.();
      await wait(waitMs, signal);
    }
  };

  const authorization = authorize((call) => repeat(call));
  return (call) => repeat(call, authorization);
}

type Outcome<Body> = Answer<Body> | Delay;

interface Delay {
  error: Error;
  /** Whether the rate limit refused the call (429). */
  isRefused: boolean;
  afterMs: number;
}

/**
 * Whether something else than the service answered: the service sends an object, or 204 to a DELETE, but a proxy may answer 200 with
 * a page.
 */
const isPage = ({ method }: Call, status: number, text: string): boolean =>
  !(method === 'DELETE' && status === 204) && !text.trimStart().startsWith('{');

/** Whether the call is a DELETE that got 404: the thing to delete does not exist. */
const isGone = ({ method }: Call, error: unknown): boolean =>
  method === 'DELETE' && error instanceof RequestFailed && error.status === 404;

/** Throws for an answer that was cut off, whose call is then repeated: `fetch` also takes half of an answer in gzip for a whole. */
const answerOf = <Body>(headers: Headers, text: string): Answer<Body> => ({
  headers,
  body: text === '' ? undefined : JSON.parse(text),
});

const isUnauthorized = (error: unknown): boolean => error instanceof RequestFailed && error.status === 401;

const backOff = (failures: number): number =>
  Math.min(backOffMs.first * 2 ** failures, backOffMs.max) * (0.5 + Math.random() / 2);

/** The reason of an error in words. The message of an error of `fetch` is only "fetch failed", and its cause has the reason. */
function reasonOf(error: unknown): string {
  const inner = error instanceof Error ? (error.cause ?? error) : error;
  const text = inner instanceof Error ? inner.message : String(inner);
  return text === '' ? '' : ` (${text})`;
}
