// The pages that the gateway answers itself, as data. A caller needs no token for them, but for one.
import { rateHeaders } from './headers.ts';
import { reference, type JsonObject, type Operation } from './model.ts';
import { refusalResponses, type RefusalName } from './refusals.ts';

export interface GatewayPage {
  method: 'GET';
  path: string;
  operationId: string;
  summary: string;
  type: 'application/json' | 'text/html';
  schema: JsonObject;
  example?: JsonObject;
  refusals: readonly RefusalName[];
  /** It asks for a token, whatever its scopes. */
  takesToken?: true;
}

const services = {
  type: 'object',
  additionalProperties: { const: 'ok' },
  description: 'Each service, by name',
};

const notes = {
  type: 'array',
  items: {
    type: 'object',
    required: ['pointer', 'detail'],
    properties: {
      pointer: { type: 'string', description: 'The service that says it' },
      detail: { type: 'string' },
    },
  },
  description:
    'What works and is not as an operator would want it, such as a replica whose settings differ. Absent where there is nothing',
};

export const gatewayPages: readonly GatewayPage[] = [
  {
    method: 'GET',
    path: '/healthz',
    operationId: 'checkHealth',
    summary: 'Whether the gateway lives',
    type: 'application/json',
    schema: { type: 'object', required: ['status'], properties: { status: { const: 'ok' } } },
    example: { status: 'ok' },
    refusals: [],
  },
  {
    method: 'GET',
    path: '/readyz',
    operationId: 'checkReadiness',
    summary: 'Whether every service and engine behind the gateway can serve; if not, which is away',
    type: 'application/json',
    schema: {
      type: 'object',
      required: ['status', 'services'],
      properties: { status: { const: 'ready' }, services, notes },
    },
    example: { status: 'ready', services: { catalog: 'ok', batches: 'ok', webhooks: 'ok' } },
    refusals: ['Unavailable'],
  },
  {
    method: 'GET',
    path: '/openapi.json',
    operationId: 'readDescription',
    summary: 'This document',
    type: 'application/json',
    schema: { type: 'object' },
    refusals: [],
  },
  {
    method: 'GET',
    path: '/asyncapi.json',
    operationId: 'readMessages',
    summary: 'The messages of this system: streams, subjects and webhooks (AsyncAPI 3.0)',
    type: 'application/json',
    schema: { type: 'object' },
    refusals: [],
  },
  {
    method: 'GET',
    path: '/docs',
    operationId: 'openExplorer',
    summary: 'An explorer of this document, for a browser; it loads nothing from elsewhere',
    type: 'text/html',
    schema: { type: 'string' },
    refusals: [],
  },
  {
    method: 'GET',
    path: '/console',
    operationId: 'openConsole',
    summary: 'A page for people that uses this interface with the token that they give it',
    type: 'text/html',
    schema: { type: 'string' },
    refusals: [],
  },
  {
    method: 'GET',
    path: '/token',
    operationId: 'describeToken',
    summary: 'What the access token or API key of the request is good for',
    type: 'application/json',
    schema: {
      type: 'object',
      required: ['integrationId', 'scopes', 'expiresAt'],
      properties: {
        integrationId: { type: 'string', description: 'Whose records it reaches' },
        scopes: { type: 'array', items: { type: 'string' }, description: 'What it allows' },
        expiresAt: {
          type: ['string', 'null'],
          format: 'date-time',
          description: 'Null of a key without an end',
        },
      },
    },
    example: {
      integrationId: 'acme',
      scopes: ['integration:suppliers:write', 'integration:suppliers:read'],
      expiresAt: '2026-11-21T18:36:11.000Z',
    },
    refusals: ['Unauthorized', 'RateLimited', 'Unavailable'],
    takesToken: true,
  },
];

/** Every request may turn out not to be HTTP, and may meet a fault of the gateway. */
const always: readonly RefusalName[] = [
  'InvalidRequest',
  'RequestTimeout',
  'HeadersTooLarge',
  'InternalError',
];

export const describePage = (page: GatewayPage): Operation => ({
  operationId: page.operationId,
  tags: ['Service'],
  summary: page.summary,
  security: page.takesToken === true ? [{ accessToken: [] }] : [],
  parameters: [reference('parameters', 'RequestId')],
  responses: {
    '200': {
      description: 'Done.',
      headers: Object.fromEntries(
        ['X-Request-Id', ...(page.takesToken === true ? rateHeaders : [])].map((name) => [
          name,
          reference('headers', name),
        ]),
      ),
      content: {
        [page.type]: {
          schema: page.schema,
          ...(page.example === undefined
            ? {}
            : { examples: { example: { summary: 'An example', value: page.example } } }),
        },
      },
    },
    ...refusalResponses([...always, ...page.refusals]),
  },
});
