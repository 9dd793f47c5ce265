// The description of one route of the public interface, and the time that its service may take.
import type { TObject, TSchema } from 'typebox';
import type { Scope } from '../scopes.ts';
import type { RequestSubject } from '../subjects.ts';

export const basePath = '/api/v1/integration';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface QueryParameter {
  name: string;
  schema: TSchema;
  description: string;
}

export interface Route {
  method: Method;
  /** Full path; `{id}` stands for one segment. */
  path: string;
  operationId: string;
  tag: 'Suppliers' | 'Products' | 'Batches' | 'Sync runs' | 'Expectations' | 'Webhooks' | 'Events';
  summary: string;
  description?: string;
  scope: Scope;
  /** A token that has this scope instead of `scope` may use the route as well. */
  orScope?: Scope;
  subject: RequestSubject;
  /** The JSON body that the route takes. Without `body`, the gateway reads no body. */
  body?: { schema: TObject; example: unknown; optional?: true };
  query?: readonly QueryParameter[];
  /** Whether the body holds items; a body with too many items is refused with 413. */
  takesItems?: true;
  answer: {
    status: 200 | 201 | 202 | 204;
    schema?: TSchema;
    example?: unknown;
    headers?: readonly AnswerHeader[];
  };
  /** What the path names. If it does not exist, the route answers 404 (`not_found`). */
  names?: 'webhook' | 'delivery' | 'sync run';
  /** Whether the route can answer 409 (`conflict`). */
  conflicts?: true;
  takesIdempotencyKey?: true;
  /** How long the service may take before the gateway answers 504. */
  timeoutMs: number;
}

/** The scopes of which a token needs one. */
export const scopesOf = ({ scope, orScope }: Pick<Route, 'scope' | 'orScope'>): readonly Scope[] =>
  orScope === undefined ? [scope] : [scope, orScope];

export type AnswerHeader = 'X-Sync-Id' | 'X-Next-Since' | 'Link' | 'Location' | 'X-Dropped-Headers';

export const pushTimeoutMs = 30_000;
export const listTimeoutMs = 10_000;
export const manageTimeoutMs = 10_000;
/** The time-out of the event feed, which waits for an event for up to 25 s. */
export const feedTimeoutMs = 35_000;
/** The time-out of a test delivery, which its receiver must answer within 10 s. */
export const testTimeoutMs = 15_000;
/** The time-out of a drill: right and forged test deliveries, which take up to 30 s. */
export const drillTimeoutMs = 35_000;
