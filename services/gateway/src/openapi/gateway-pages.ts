// The pages that the gateway answers itself, as data: for the OpenAPI document, and for 405. Only `/token` needs a token.
import { rateHeaders } from './answer-headers.ts';
import { answerOf, contentOf, objectOf, reference, type GatewayPage, type JsonObject } from './model.ts';
import { refusalResponses, type RefusalName } from './error-answers.ts';
import { tokenPages } from './token-endpoint.ts';

export interface GatewayPagesOptions {
  hasTokenEndpoint: boolean;
  hasConsole: boolean;
}

export const gatewayPages = ({ hasTokenEndpoint, hasConsole }: GatewayPagesOptions): GatewayPage[] => [
  ...pages.filter(({ path }) => hasConsole || path !== '/console'),
  ...(hasTokenEndpoint ? tokenPages : []),
];

/** The error answers that any page may have: for bytes that are not HTTP, and for a fault of the gateway. */
const always: readonly RefusalName[] = [
  'InvalidRequest',
  'RequestTimeout',
  'HeadersTooLarge',
  'InternalError',
];

const pageOf = (
  path: string,
  operationId: string,
  summary: string,
  content: JsonObject,
  { refusals = [], takesToken = false }: { refusals?: readonly RefusalName[]; takesToken?: boolean } = {},
): GatewayPage => ({
  method: 'GET',
  path,
  operation: {
    operationId,
    tags: ['Service'],
    summary,
    security: takesToken ? [{ accessToken: [] }] : [],
    parameters: [reference('parameters', 'RequestId')],
    responses: {
      '200': answerOf('Done.', takesToken ? rateHeaders : [], content),
      ...refusalResponses([...always, ...refusals]),
    },
  },
});

const anyObject = contentOf({ type: 'object' });
const html = contentOf({ type: 'string' }, undefined, 'text/html');

const services = { type: 'object', additionalProperties: { const: 'ok' }, description: 'Each, by its name' };

const notes = {
  type: 'array',
  items: objectOf({
    pointer: { type: 'string', description: 'The service that has the note' },
    detail: { type: 'string' },
  }),
  description:
    'Faults with which the system still serves, such as a replica whose settings differ. Absent without such faults',
};

const pages: readonly GatewayPage[] = [
  pageOf(
    '/healthz',
    'checkHealth',
    'Whether the gateway lives',
    contentOf(objectOf({ status: { const: 'ok' } }), { status: 'ok' }),
  ),
  pageOf(
    '/readyz',
    'checkReadiness',
    'Whether every service and engine behind the gateway can serve; if not, which is away',
    contentOf(objectOf({ status: { const: 'ready' }, services, notes }, ['status', 'services']), {
      status: 'ready',
      services: { catalog: 'ok', batches: 'ok', webhooks: 'ok' },
    }),
    { refusals: ['Unavailable'] },
  ),
  pageOf('/openapi.json', 'readDescription', 'This document', anyObject),
  pageOf('/asyncapi.json', 'readMessages', 'Streams, subjects and webhooks (AsyncAPI 3.0)', anyObject),
  pageOf(
    '/llms.txt',
    'readForAgents',
    'What an agent may read here, in the order of an integrator’s work',
    contentOf({ type: 'string' }, undefined, 'text/plain'),
  ),
  pageOf('/docs', 'openExplorer', 'An explorer of this document that loads nothing from elsewhere', html),
  pageOf('/console', 'openConsole', 'A page for people, which uses this interface with their token', html),
  pageOf(
    '/token',
    'describeToken',
    'What the access token or API key of the request is good for',
    contentOf(
      objectOf({
        integrationId: { type: 'string', description: 'The integration whose records the token reaches' },
        scopes: { type: 'array', items: { type: 'string' }, description: 'The scopes of the token' },
        expiresAt: { type: ['string', 'null'], format: 'date-time', description: 'Null: without an end' },
      }),
      {
        integrationId: 'acme',
        scopes: ['integration:suppliers:write', 'integration:suppliers:read'],
        expiresAt: '2026-11-21T18:36:11.000Z',
      },
    ),
    { refusals: ['Unauthorized', 'RateLimited', 'Unavailable'], takesToken: true },
  ),
];
