// The routes of the history of pushes.
import { Type } from 'typebox';
import { oneOf } from '../fields.ts';
import { entityTypes, SyncRun, SyncRunInFull } from '../pushes.ts';
import { scopes } from '../scopes.ts';
import { subjects } from '../subjects.ts';
import { runExample } from './examples.ts';
import { answered, cursor, limit, listed, page, parameter, since, text } from './parameters.ts';
import { basePath, listTimeoutMs, type Route } from './route.ts';

export const runRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${basePath}/sync-runs`,
    operationId: 'listSyncRuns',
    tag: 'Sync runs',
    summary: 'List the pushes of the last 7 days, newest first',
    scope: scopes.syncsRead,
    subject: subjects.catalogRunsList,
    query: [
      page,
      limit,
      {
        ...since,
        description: 'Only pushes that began after this time: a day, or a date-time with Z or an offset',
      },
      cursor,
      parameter('entityType', oneOf(entityTypes), 'Only pushes of this kind'),
      parameter(
        'failed',
        Type.Unsafe<boolean>({ type: 'boolean', enum: [true] }),
        'Only pushes of which an item failed',
      ),
      text('client', 'Only pushes of this client'),
    ],
    answer: listed(SyncRun, 'SyncRunListing', runExample, 'Link'),
    timeoutMs: listTimeoutMs,
  },
  {
    method: 'GET',
    path: `${basePath}/sync-runs/{id}`,
    operationId: 'getSyncRun',
    tag: 'Sync runs',
    summary: 'One push of the last 7 days, with the errors of its items',
    scope: scopes.syncsRead,
    subject: subjects.catalogRunsGet,
    names: 'sync run',
    answer: answered(SyncRunInFull, {
      ...runExample,
      created: 1,
      failed: 1,
      errors: [{ index: 1, externalId: 'SUP-002', error: 'Supplier name is required' }],
      errorsOmitted: 0,
    }),
    timeoutMs: listTimeoutMs,
  },
];
