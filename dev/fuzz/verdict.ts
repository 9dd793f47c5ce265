// What every answer must be, whatever the request was.
import { codes, isErrorCode } from '@integration-sync/contracts';
import type { Outcome } from './exchange.ts';

/** The fault of an answer, or undefined. */
export function findFault(outcome: Outcome): string | undefined {
  if (outcome === 'hung' || outcome === 'closed') return outcome;
  const { status, headers, body } = outcome;
  if (status >= 500) return `status ${status}: ${body.slice(0, 300)}`;
  if (!headers.has('x-request-id')) return `status ${status} without X-Request-Id`;
  if (status >= 400)
    return body === '' ? undefined : findProblemFault(status, headers.get('content-type'), body);
  if (status === 204 || body === '') return undefined;
  return parse(body) !== undefined || headers.get('content-type')?.startsWith('text/') === true
    ? undefined
    : `status ${status}, but no JSON`;
}

/** The statuses of `invalid_request`: requests that are hardly HTTP may get 408 or 431 in place of 400. */
const statusesOfInvalidRequests = new Set([400, 408, 431]);

function findProblemFault(status: number, type: string | undefined, body: string): string | undefined {
  if (type !== 'application/problem+json') return `status ${status} with content type ${type}`;
  const problem = parse(body) ?? {};
  const { code } = problem;
  if (typeof code !== 'string' || !isErrorCode(code)) return `status ${status} with code ${String(code)}`;
  const fits =
    code === 'invalid_request' ? statusesOfInvalidRequests.has(status) : codes[code].status === status;
  if (!fits || problem['status'] !== status)
    return `status ${status} with code ${code} and status ${String(problem['status'])}`;
  const missing = ['type', 'title', 'detail', 'requestId'].filter(
    (name) => typeof problem[name] !== 'string',
  );
  if (missing.length > 0) return `a problem without ${missing.join(' and ')}`;
  if (/\.[jt]s:\d+|mongo|nats|node_modules/i.test(body))
    return `a problem that tells too much: ${body.slice(0, 300)}`;
  return undefined;
}

/** The fields of a JSON object; undefined for another text. */
function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
