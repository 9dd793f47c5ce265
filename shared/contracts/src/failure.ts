// The only error that a service sends to others. A service or gateway that cannot answer a request throws a `Failure`. The reply
// over NATS contains it as data, and the gateway converts it to an RFC 9457 problem. The caller reads its `detail`.
import type { ErrorCode } from './error-codes.ts';

export interface FailureEntry {
  /** What is wrong: a JSON Pointer into the body, or the name of a query parameter. */
  pointer: string;
  detail: string;
}

export interface FailureExtras {
  errors?: FailureEntry[];
  retryAfterSeconds?: number;
  cause?: unknown;
}

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors: FailureEntry[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ErrorCode, detail: string, extras: FailureExtras = {}) {
    super(`${code}: ${detail}`, 'cause' in extras ? { cause: extras.cause } : undefined);
    this.code = code;
    this.detail = detail;
    this.errors = extras.errors;
    this.retryAfterSeconds = extras.retryAfterSeconds;
  }
}

/** Throws one failure for all errors of a request. */
export function refuseIfAny(errors: readonly FailureEntry[]): void {
  if (errors.length === 0) return;
  throw new Failure('invalid_request', errors.map(inOneLine).join(' '), { errors: [...errors] });
}

/** The errors are joined into one message: a `detail` without a full stop gets a semicolon, unless it is the last. */
const inOneLine = ({ detail }: FailureEntry, index: number, { length }: readonly FailureEntry[]): string =>
  detail.endsWith('.') || index === length - 1 ? detail : `${detail};`;
