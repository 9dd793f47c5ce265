// Every route of the public interface, as data. Routing, the scope check, 405 with Allow, the OpenAPI document
// and the table in docs/api.md are all made from this one list.
import { expectationRoutes } from './expectations.ts';
import { feedRoutes } from './feed.ts';
import { recordRoutes } from './records.ts';
import type { Route } from './route.ts';
import { runRoutes } from './runs.ts';
import { webhookRoutes } from './webhooks.ts';

export { basePath, scopesOf } from './route.ts';
export type { AnswerHeader, Method, QueryParameter, Route } from './route.ts';

export const routes: readonly Route[] = [
  ...recordRoutes,
  ...runRoutes,
  ...expectationRoutes,
  ...webhookRoutes,
  ...feedRoutes,
];

const statuses = new Map<string, number>(routes.map(({ subject, answer }) => [subject, answer.status]));

/** The HTTP status of a successful answer: that of the route with this subject, or 200 for a request between services. */
export const statusOfAnswer = (subject: string): number => statuses.get(subject) ?? 200;

/** The JSON pointer to an operation in `/openapi.json`, which the gateway serves. */
export const pointerInOpenapi = ({ method, path }: { method: string; path: string }): string =>
  `openapi.json#/paths/${path.replaceAll('~', '~0').replaceAll('/', '~1')}/${method.toLowerCase()}`;
