// The routes of expectations: how often an integration means to push.
import { Expectations, SetExpectations } from '../expectations.ts';
import { scopes } from '../scopes.ts';
import { subjects } from '../subjects.ts';
import { expectationsExample } from './examples.ts';
import { answered } from './parameters.ts';
import { basePath, listTimeoutMs, manageTimeoutMs, type Route } from './route.ts';

const all = {
  path: `${basePath}/expectations`,
  tag: 'Expectations',
  answer: answered(Expectations, expectationsExample),
} as const;

export const expectationRoutes: readonly Route[] = [
  {
    ...all,
    method: 'GET',
    operationId: 'getExpectations',
    summary: 'Read how often pushes are expected, and whether one is overdue',
    scope: scopes.expectationsRead,
    subject: subjects.expectationsGet,
    timeoutMs: listTimeoutMs,
  },
  {
    ...all,
    method: 'PUT',
    operationId: 'setExpectations',
    summary: 'Say how often pushes are expected',
    description:
      'A push that has not come by its `dueAt` is announced once, as `sync.overdue`. ' +
      'An expectation counts from when it was set, and setting the same hours again changes nothing.',
    scope: scopes.expectationsWrite,
    subject: subjects.expectationsSet,
    body: { schema: SetExpectations, example: { products: { everyHours: 26 }, batches: null } },
    timeoutMs: manageTimeoutMs,
  },
];
