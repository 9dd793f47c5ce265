// Checks the body and headers of an error answer (RFC 9457), which have the same form from every service.
import { expect } from 'vitest';

export interface ExpectedProblem {
  status: number;
  code: string;
  /** null: the header must not be there. */
  headers?: Record<string, string | null>;
}

export async function expectProblem(
  answer: Response,
  { status, code, headers = {} }: ExpectedProblem,
): Promise<Record<string, unknown>> {
  const body = (await answer.json()) as Record<string, unknown>;
  expect({ status: answer.status, code: body['code'] }).toEqual({ status, code });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(body).toMatchObject({
    type: `urn:integration-sync:problem:${code}`,
    title: expect.stringMatching(/./),
    status,
    detail: expect.stringMatching(/./),
    requestId: answer.headers.get('x-request-id'),
  });
  for (const [name, value] of Object.entries(headers)) expect(answer.headers.get(name)).toBe(value);
  return body;
}
