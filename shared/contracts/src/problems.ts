// The body of every error answer: RFC 9457, with a stable code.
// `refuseIfAny` (failure.ts) puts several errors into one answer; for a push, items/push-body.ts of shared/sync
// collects the errors of the query and of the body around the items.
import { Type, type Static } from 'typebox';
import { codes, type ErrorCode } from './error-codes.ts';
import type { Failure } from './failure.ts';

export const Problem = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    code: Type.Unsafe<ErrorCode>({ type: 'string', enum: Object.keys(codes) }),
    requestId: Type.String(),
    errors: Type.Optional(
      Type.Array(Type.Object({ pointer: Type.String(), detail: Type.String() }, { title: 'ProblemError' })),
    ),
  },
  { title: 'Problem' },
);
export type Problem = Static<typeof Problem>;

export function problemOf(failure: Failure, requestId: string): Problem {
  const { status, title } = codes[failure.code];
  return {
    type: `urn:integration-sync:problem:${failure.code}`,
    title,
    status,
    detail: failure.detail,
    code: failure.code,
    requestId,
    ...(failure.errors === undefined ? {} : { errors: failure.errors }),
  };
}
