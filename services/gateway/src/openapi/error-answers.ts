// The error answers in the OpenAPI document: for each status, every code with an example as the gateway writes answers.
import { codes, Failure, Problem, type ErrorCode } from '@integration-sync/contracts';
import { checkedHeaders, requestIdExample } from './answer-headers.ts';
import type { TSchema } from 'typebox';
import { answerOf, plain, reference, type JsonObject } from './model.ts';
import { bodyOf, problemType, StatusFailure, statusOf } from '../problems.ts';
import type { SchemaCollection } from './schemas.ts';

interface Refusal {
  description: string;
  /** One example for each error code of the refusal. */
  examples: readonly [Failure, ...Failure[]];
  headers?: readonly string[];
}

const example = (code: ErrorCode, detail: string): Failure => new Failure(code, detail);
const exampleAt = (pointer: string, detail: string): Failure =>
  new Failure('invalid_request', detail, { errors: [{ pointer, detail }] });

const refusals = {
  InvalidRequest: {
    description: 'The request is not valid. Nothing was changed.',
    examples: [exampleAt('page', 'page: expected a whole number of 1 or more, got "0"')],
  },
  InvalidBody: {
    description: 'The body is not JSON, or not what this operation takes. Nothing was changed.',
    examples: [
      example('invalid_json', 'The body is not valid JSON (line 1, column 42).'),
      exampleAt('/suppliers', 'The body must hold an array "suppliers".'),
    ],
  },
  Unauthorized: {
    description: 'No access token was sent, or it is not valid. Which check it failed is not said.',
    examples: [example('unauthorized', 'The access token is not valid.')],
    headers: ['WWW-Authenticate'],
  },
  Forbidden: {
    description: 'The access token does not carry the scope.',
    examples: [
      example('insufficient_scope', 'The access token does not carry the scope integration:suppliers:write.'),
    ],
    headers: ['WWW-Authenticate'],
  },
  NotFound: {
    description: 'Your integration has no such thing.',
    examples: [example('not_found', 'There is no webhook with this id.')],
  },
  RequestTimeout: {
    description: 'The request did not arrive in time, or its body came too slowly; the connection is closed.',
    examples: [new StatusFailure(408, 'The request did not arrive in time.')],
  },
  Conflict: {
    description: 'The request conflicts with the current state.',
    examples: [example('conflict', 'The integration already has as many webhooks as it may have.')],
  },
  TooLarge: {
    description: 'The body is over the byte limit, or holds too many items. Nothing was written.',
    examples: [
      example('body_too_large', 'The body is larger than 5242880 bytes. Split the push into smaller ones.'),
      example('too_many_items', 'A push takes at most 500 items; this one has 501.'),
    ],
  },
  BodyTooLarge: {
    description: 'The body is over the byte limit.',
    examples: [example('body_too_large', 'The body is larger than 5242880 bytes.')],
  },
  UnsupportedMediaType: {
    description: 'The body is not declared as JSON in UTF-8, or is encoded.',
    examples: [
      example(
        'unsupported_media_type',
        'Send the body with the header "Content-Type: application/json", in UTF-8; it was "text/csv".',
      ),
    ],
    headers: ['Accept', 'Accept-Encoding'],
  },
  RateLimited: {
    description: 'More requests than this installation allows. Not limited unless configured.',
    examples: [example('rate_limited', 'More than 600 requests; try again in 12 s.')],
    headers: ['Retry-After'],
  },
  HeadersTooLarge: {
    description: 'URL and headers together are larger than 16 KiB; the connection is closed.',
    examples: [new StatusFailure(431, 'The URL and the headers together are larger than 16 KiB.')],
  },
  InternalError: {
    description: 'Something went wrong on our side. The request id leads us to it.',
    examples: [example('internal', 'Something went wrong on our side; the request id leads us to it.')],
  },
  Unavailable: {
    description: 'A service or an engine behind this interface is away or busy. Try again.',
    examples: [example('unavailable', 'The catalog service is away; try again shortly.')],
    headers: ['Retry-After'],
  },
  Timeout: {
    description: 'No answer came in time. A push may still take effect; sending it again is safe.',
    examples: [example('timeout', 'The service did not answer in time; the request may still take effect.')],
  },
} as const satisfies Record<string, Refusal>;

export type RefusalName = keyof typeof refusals;

/** The refusals that come before token and scope are checked. */
const early: ReadonlySet<string> = new Set<RefusalName>([
  'Unauthorized',
  'Forbidden',
  'RequestTimeout',
  'HeadersTooLarge',
]);

export const refusalResponses = (names: readonly RefusalName[]): Record<string, JsonObject> =>
  Object.fromEntries(
    names.map((name) => [statusOf(refusals[name].examples[0]), reference('responses', name)]),
  );

export const describeRefusals = (schemas: SchemaCollection): Record<string, JsonObject> =>
  Object.fromEntries(
    Object.entries<Refusal>(refusals).map(([name, refusal]) => [name, describe(name, refusal, schemas)]),
  );

function describe(name: string, refusal: Refusal, schemas: SchemaCollection): JsonObject {
  const { description, examples, headers = [] } = refusal;
  return answerOf(description, [...headers, ...(early.has(name) ? [] : checkedHeaders)], {
    [problemType]: {
      schema: schemas.use(problemSchema(name, examples)),
      examples: Object.fromEntries(
        examples.map((failure) => [
          failure.code,
          { summary: codes[failure.code].title, value: plain(bodyOf(failure, requestIdExample)) },
        ]),
      ),
    },
  });
}

/** The schema repeats `Problem` with one status and some codes, because code generators cannot merge schemas by `allOf`. */
const problemSchema = (name: string, examples: Refusal['examples']): TSchema => ({
  ...Problem,
  title: `${name}Problem`,
  properties: {
    ...Problem.properties,
    status: { type: 'integer', enum: [statusOf(examples[0])] },
    code: { type: 'string', enum: examples.map(({ code }) => code) },
  },
});
