// The token endpoint and its metadata in the document, and the scheme by which a generated client fetches its tokens.
import { allScopes } from '@integration-sync/contracts';
import { metadataOf, metadataPath, tokenPath } from '../oauth/issuer.ts';
import { oauthErrors } from '../oauth/refusal.ts';
import {
  answerOf,
  contentOf,
  objectOf,
  reference,
  type GatewayPage,
  type JsonObject,
  type Operation,
} from './model.ts';
import { refusalResponses } from './error-answers.ts';

export const oauth2Scheme = (publicBasePath: string): JsonObject => ({
  type: 'oauth2',
  description: 'The id and the secret of a client for an access token of one hour.',
  flows: {
    clientCredentials: {
      tokenUrl: publicBasePath + tokenPath,
      scopes: Object.fromEntries(allScopes.map((scope) => [scope, meaningOf(scope)])),
    },
  },
});

/** The meaning of a scope in words: `Write suppliers` for `integration:suppliers:write`. */
function meaningOf(scope: string): string {
  const [, noun = '', verb = ''] = scope.split(':');
  return `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${noun}`;
}

const text = (description: string): JsonObject => ({ type: 'string', description });

const form = objectOf(
  {
    grant_type: { const: 'client_credentials' },
    scope: text('Some of the client’s scopes, separated by spaces; all of them where it is left out'),
    client_id: text('Where the client does not send it by Basic'),
    client_secret: text('Where the client does not send it by Basic'),
  },
  ['grant_type'],
);

const granted = objectOf({
  access_token: text('A JWT by RFC 9068'),
  token_type: { const: 'Bearer' },
  expires_in: { type: 'integer', description: 'Seconds; an hour, or until the secret ends' },
  scope: text('What the token may do'),
});

const grantedExample = {
  access_token: 'eyJhbGciOi…',
  token_type: 'Bearer',
  expires_in: 3_600,
  scope: 'integration:suppliers:write',
};

const names: JsonObject = { type: 'array', items: { type: 'string' } };
const metadata = objectOf(
  {
    issuer: { type: 'string' },
    token_endpoint: { type: 'string' },
    token_endpoint_auth_methods_supported: names,
    grant_types_supported: names,
    response_types_supported: names,
    scopes_supported: names,
  },
  ['issuer', 'token_endpoint'],
);

const refusal = (description: string, error: string, ...headers: string[]): JsonObject =>
  answerOf(description, headers, {
    'application/json': {
      schema: objectOf({ error: { enum: oauthErrors }, error_description: { type: 'string' } }),
      examples: { example: { summary: error, value: { error, error_description: description } } },
    },
  });

const always = refusalResponses(['RequestTimeout', 'HeadersTooLarge', 'InternalError']);

const fetchToken: Operation = {
  operationId: 'fetchToken',
  tags: ['Service'],
  summary: 'An access token for the id and the secret of a client',
  description: 'RFC 6749 client credentials. There is no refresh token: a client fetches a new one.',
  security: [],
  parameters: [reference('parameters', 'RequestId')],
  requestBody: {
    required: true,
    content: contentOf(form, { grant_type: 'client_credentials' }, 'application/x-www-form-urlencoded'),
  },
  responses: {
    '200': answerOf('Done.', [], contentOf(granted, grantedExample)),
    '400': refusal(
      'The form is not as RFC 6749 has it, or asks for a scope that the client lacks.',
      'invalid_request',
    ),
    '401': refusal(
      'The client id or its secret is wrong, or the secret has ended.',
      'invalid_client',
      'WWW-Authenticate',
    ),
    '429': refusal(
      'More than 30 wrong secrets for this client within a minute.',
      'invalid_client',
      'Retry-After',
    ),
    ...always,
  },
};

const readMetadata: Operation = {
  operationId: 'readTokenMetadata',
  tags: ['Service'],
  summary: 'Where the token endpoint is and what it takes (RFC 8414)',
  security: [],
  parameters: [reference('parameters', 'RequestId')],
  responses: {
    '200': answerOf('Done.', [], contentOf(metadata, metadataOf('https://sync.example.com'))),
    '400': refusal('The Host header is no address.', 'invalid_request'),
    ...always,
  },
};

export const tokenPages: readonly GatewayPage[] = [
  { method: 'POST', path: tokenPath, operation: fetchToken },
  { method: 'GET', path: metadataPath, operation: readMetadata },
];
