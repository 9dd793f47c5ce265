// What a call may throw: the service refused the call, or did not answer it in time.

export interface ProblemEntry {
  pointer: string;
  detail: string;
}

/** The service answered with an error that would be the same if the call were repeated. */
export class RequestFailed extends Error {
  override readonly name = 'RequestFailed';
  readonly status: number;
  /** Stable, for programs: `invalid_request`, `insufficient_scope`. Empty if something else answered, such as a proxy. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly errors: readonly ProblemEntry[];
  /** The scope that the key or token lacks, after 403. */
  readonly scope: string | undefined;

  constructor(what: string, status: number, headers: Headers, text: string) {
    const problem = readProblem(text);
    super(`${what} was answered ${status}: ${problem.detail ?? text.slice(0, 200)}`);
    this.status = status;
    this.code = problem.code ?? problem.error ?? '';
    this.requestId = headers.get('x-request-id') ?? undefined;
    this.errors = problem.errors ?? [];
    this.scope = /scope="([^"]*)"/.exec(headers.get('www-authenticate') ?? '')?.[1];
  }
}

/** Until `patienceMs` ended, no answer came, or only 429, 502, 503 or 504. The same call may be made again. */
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
    // The text is no JSON: a proxy may answer with an HTML page.
    return {};
  }
}
