// What several routes have in common: query parameters, and the answer of a listing.
import { Type, type TSchema } from 'typebox';
import { limits } from '../limits.ts';
import { listingOf } from '../listings.ts';
import { listingExample } from './examples.ts';
import type { AnswerHeader, QueryParameter, Route } from './route.ts';

export const parameter = (name: string, schema: TSchema, description: string): QueryParameter => ({
  name,
  schema,
  description,
});

/** A parameter of type string: the service itself parses its text. */
export const text = (name: string, description: string): QueryParameter =>
  parameter(name, Type.String(), description);

/** The parameter `details`: whether answers have details; false unless given. */
export const detailsFlag = (description: string): QueryParameter =>
  parameter('details', Type.Boolean({ default: false }), description);

export const page = parameter(
  'page',
  Type.Integer({ minimum: 1, default: limits.pageDefault }),
  'Which page, from 1',
);
export const limit = parameter(
  'limit',
  Type.Integer({ minimum: 1, default: limits.pageSizeDefault }),
  `Entities per page; more than ${limits.pageSizeMax} is taken as ${limits.pageSizeMax}`,
);
export const since = text(
  'since',
  'Only what was synced after this time: a day, or a date-time with Z or an offset',
);
export const cursor = text(
  'cursor',
  'The cursor in the Link header of the answer before; every page then costs the same, however deep',
);

export const answered = (schema: TSchema, example: object, ...headers: AnswerHeader[]): Route['answer'] => ({
  status: 200,
  schema,
  example,
  headers,
});

/** The answer of a listing, with a title for its schema and an example of an entity. */
export const listed = (
  entity: TSchema,
  title: string,
  example: object,
  ...headers: AnswerHeader[]
): Route['answer'] => answered(listingOf(entity, title), listingExample(example), ...headers);
