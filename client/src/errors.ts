// The errors that a call may throw: the service refused the call, or did not answer in time.

export interface ProblemEntry {
  pointer: string;
  detail: string;
}

/** The service answered with an error that would be the same if the call were repeated. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed';
  readonly status: number;
  /** A stable error code for programs, such as `invalid_request`. Empty if not the service answered, but a proxy. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly errors: readonly ProblemEntry[];
  /** The scope that the key or token lacks, if the status is 403. */
  readonly scope: string | undefined;

  constructor(what: string, status: number, headers: Headers, text: string) {
    const problem = readProblem(text);
    const location = headers.get('location');
    // A browser hides where a redirect leads to: its status is 0, and it has no headers.
    const page = status === 0 ? 'a redirect' : text.slice(0, 200);
    const said = location === null ? page : `a redirect to ${location}`;
    super(`${what} was answered ${status}: ${problem.detail ?? said}`);
    this.status = status;
    this.code = problem.code ?? problem.error ?? '';
    this.requestId = headers.get('x-request-id') ?? undefined;
    this.errors = problem.errors ?? [];
    this.scope = /scope="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1];
  }
}

/** For `patienceMs` the service did not answer, or answered only 429, 502, 503 or 504. The same call may be made again. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

interface Problem {
  detail?: string;
  code?: string;
  /** The error code of the token endpoint, which answers by RFC 6749. */
  error?: string;
  errors?: readonly ProblemEntry[];
}

function readProblem(text: string): Problem {
  try {
    const problem: unknown = JSON.parse(text);
    return typeof problem === 'object' && problem !== null ? problem : {};
  } catch {
    // The text of the answer is no JSON: a proxy may answer with an HTML page.
    return {};
  }
}
