// The query parameters that several listings take.
import { Type } from 'typebox';
import { limits } from '../limits.ts';
import type { QueryParameter } from './route.ts';

export const page: QueryParameter = {
  name: 'page',
  schema: Type.Integer({ minimum: 1, default: limits.pageDefault }),
  description: 'Which page, from 1',
};
export const limit: QueryParameter = {
  name: 'limit',
  schema: Type.Integer({ minimum: 1, default: limits.pageSizeDefault }),
  description: `Entities per page; more than ${limits.pageSizeMax} is taken as ${limits.pageSizeMax}`,
};
export const since: QueryParameter = {
  name: 'since',
  schema: Type.String(),
  description: 'Only what was synced after this time: a day, or a date-time with Z or an offset',
};
export const cursor: QueryParameter = {
  name: 'cursor',
  schema: Type.String(),
  description: 'Where the answer before ended, from its Link header; costs the same however deep it goes',
};
