// What went wrong with a request, in words for a person.

export class Problem extends Error {
  override readonly name = 'Problem';
  /** The HTTP status; 0 if no answer came. */
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, message: string, retryAfterMs?: number) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  /** Whether the same request may succeed later. */
  get passes(): boolean {
    return [0, 429, 502, 503, 504].includes(this.status);
  }
}

const defaultWaitMs = 5_000;

export function problemOf(status: number, body: unknown, retryAfter: string | null): Problem {
  const detail = detailOf(body);
  const seconds = Number(retryAfter ?? Number.NaN);
  const words = detail ?? `The gateway answered ${status}.`;
  return new Problem(status, words, Number.isFinite(seconds) ? seconds * 1_000 : defaultWaitMs);
}

export const noAnswer = (): Problem =>
  new Problem(0, 'The gateway does not answer: is the network there?', defaultWaitMs);

function detailOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('detail' in body)) return undefined;
  return typeof body.detail === 'string' ? body.detail : undefined;
}
