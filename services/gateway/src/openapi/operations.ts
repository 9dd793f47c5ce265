// One row of the route table as an operation of the document.
import { limits, type QueryParameter, type Route } from '@integration-sync/contracts';
import { rateHeaders } from './headers.ts';
import { reference, type Json, type JsonObject, type Operation } from './model.ts';
import { refusalResponses, type RefusalName } from './refusals.ts';
import type { SchemaCollection } from './schemas.ts';

export function describeRoute(route: Route, schemas: SchemaCollection, hasOAuth2: boolean): Operation {
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, `Needs the scope \`${route.scope}\`.`].filter(Boolean).join('\n\n'),
    security: [{ accessToken: [route.scope] }, ...(hasOAuth2 ? [{ oauth2: [route.scope] }] : [])],
    parameters: [
      ...(route.names === undefined ? [] : idParameters[route.names]).map((name) =>
        reference('parameters', name),
      ),
      ...(route.query ?? []).map((parameter) => describeParameter(parameter, schemas)),
      ...(route.takesIdempotencyKey ? [reference('parameters', 'IdempotencyKey')] : []),
      reference('parameters', 'RequestId'),
      reference('parameters', 'Prefer'),
    ],
    ...(route.body === undefined ? {} : { requestBody: describeBody(route.body, schemas) }),
    responses: {
      [String(route.answer.status)]: describeAnswer(route, schemas),
      ...refusalResponses(refusalsOf(route)),
    },
  };
}

const idParameters = {
  webhook: ['WebhookId'],
  delivery: ['WebhookId', 'EventId'],
  'sync run': ['SyncId'],
} as const;

function refusalsOf(route: Route): RefusalName[] {
  const takesBody = route.body !== undefined;
  return [
    takesBody ? 'InvalidBody' : 'InvalidRequest',
    'Unauthorized',
    'Forbidden',
    ...(route.names === undefined ? [] : (['NotFound'] as const)),
    'RequestTimeout',
    ...(route.conflicts === undefined ? [] : (['Conflict'] as const)),
    ...(takesBody ? ([route.takesItems ? 'TooLarge' : 'BodyTooLarge', 'UnsupportedMediaType'] as const) : []),
    'RateLimited',
    'HeadersTooLarge',
    'InternalError',
    'Unavailable',
    'Timeout',
  ];
}

function describeParameter(
  { name, schema, description }: QueryParameter,
  schemas: SchemaCollection,
): JsonObject {
  return { name, in: 'query', description, schema: schemas.use(schema) };
}

function describeBody(body: NonNullable<Route['body']>, schemas: SchemaCollection): JsonObject {
  return {
    description: `At most ${limits.bodyBytesDefault} bytes.`,
    required: body.optional !== true,
    content: {
      'application/json': {
        schema: schemas.use(body.schema),
        examples: { example: { summary: 'An example', value: plain(body.example) } },
      },
    },
  };
}

function describeAnswer({ answer }: Route, schemas: SchemaCollection): JsonObject {
  const headers = ['X-Request-Id', ...(answer.headers ?? []), 'Preference-Applied', ...rateHeaders];
  return {
    description: descriptions[answer.status],
    headers: Object.fromEntries(headers.map((name) => [name, reference('headers', name)])),
    ...(answer.schema === undefined
      ? {}
      : {
          content: {
            'application/json': {
              schema: schemas.use(answer.schema),
              examples: { example: { summary: 'An example', value: plain(answer.example) } },
            },
          },
        }),
  };
}

const descriptions: Readonly<Record<Route['answer']['status'], string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted; the work goes on.',
  204: 'Done; there is nothing to say.',
};

const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value));
