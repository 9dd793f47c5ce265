// One row of the route table as an operation of the document.
import { limits, scopesOf, type Route } from '@integration-sync/contracts';
import { checkedHeaders } from './answer-headers.ts';
import { answerOf, contentOf, reference, type JsonObject, type Operation } from './model.ts';
import { refusalResponses, type RefusalName } from './error-answers.ts';
import type { SchemaCollection } from './schemas.ts';

/** The scopes of a route, joined by "or" for a sentence: a token needs one of them. */
export const scopesInWords = (route: Route): string =>
  scopesOf(route)
    .map((scope) => `\`${scope}\``)
    .join(' or ');

export function describeRoute(route: Route, schemas: SchemaCollection, hasOAuth2: boolean): Operation {
  const scopes = scopesOf(route);
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, `Needs the scope ${scopesInWords(route)}.`].filter(Boolean).join('\n\n'),
    security: [
      ...scopes.map((one) => ({ accessToken: [one] })),
      ...(hasOAuth2 ? scopes.map((one) => ({ oauth2: [one] })) : []),
    ],
    parameters: [
      ...(route.names === undefined ? [] : idParameters[route.names]),
      ...(route.query ?? []).map(({ name, schema, description }) => ({
        name,
        in: 'query',
        description,
        schema: schemas.use(schema),
      })),
      ...(route.takesIdempotencyKey ? [reference('parameters', 'IdempotencyKey')] : []),
      reference('parameters', 'RequestId'),
      reference('parameters', 'Prefer'),
    ],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            description: `At most ${limits.bodyBytesDefault} bytes, unless the operator has set another limit.`,
            required: route.body.optional !== true,
            content: contentOf(schemas.use(route.body.schema), route.body.example),
          },
        }),
    responses: {
      [String(route.answer.status)]: describeAnswer(route, schemas),
      ...refusalResponses(refusalsOf(route)),
    },
  };
}

const webhookId = reference('parameters', 'WebhookId');
const idParameters: Readonly<Record<NonNullable<Route['names']>, JsonObject[]>> = {
  webhook: [webhookId],
  delivery: [webhookId, reference('parameters', 'EventId')],
  'sync run': [reference('parameters', 'SyncId')],
};

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

function describeAnswer({ answer }: Route, schemas: SchemaCollection): JsonObject {
  const { status, schema, example, headers = [] } = answer;
  return answerOf(
    descriptions[status],
    [...headers, ...checkedHeaders],
    schema === undefined ? undefined : contentOf(schemas.use(schema), example),
  );
}

const descriptions: Readonly<Record<Route['answer']['status'], string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted; the work goes on.',
  204: 'Done; there is nothing to say.',
};
