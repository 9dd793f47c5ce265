// What went wrong with a request, in words for a person.

export class Problem extends Error {
  override readonly name = 'Problem';
  /** The HTTP status; 0 if no answer came. */
  readonly status: number;
  readonly retryAfterMs: number;

  constructor(status: number, message: string, retryAfterMs = defaultWaitMs) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request may succeed later. */
  get passes(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

const defaultWaitMs = 5_000;
const longestWaitMs = 600_000;

export function problemOf(status: number, body: unknown, retryAfter: string | null): Problem {
  const detail = detailOf(body);
  const words = detail ?? `The gateway answered ${status}.`;
  // Without these bounds, a `Retry-After` of 0 or of more time than a timer can wait would cause repeats without a pause.
  const waitMs = Math.min(Number(retryAfter) * 1_000 || defaultWaitMs, longestWaitMs);
  return new Problem(status, words, waitMs);
}

export const noAnswer = (): Problem => new Problem(0, 'The gateway does not answer: is the network there?');

/** For a success without its JSON: the connection broke within the answer, or a proxy answered with a page of its own. */
export const noJson = (): Problem => new Problem(0, 'The answer was cut off, or is not from the gateway.');

function detailOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('detail' in body)) return undefined;
  return typeof body.detail === 'string' ? body.detail : undefined;
}
