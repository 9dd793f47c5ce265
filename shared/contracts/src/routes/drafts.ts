// The route of the due-diligence statements that pushes of batches drafted.
import { DdsEntry } from '../batches.ts';
import { listingOf } from '../listings.ts';
import { scopes } from '../scopes.ts';
import { subjects } from '../subjects.ts';
import { ddsExample, listingExample } from './examples.ts';
import { cursor, limit, page, since } from './parameters.ts';
import { basePath, listTimeoutMs, type Route } from './route.ts';

export const draftRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${basePath}/dds`,
    operationId: 'listDds',
    tag: 'Batches',
    summary: 'List the due-diligence statements that were drafted',
    scope: scopes.batchesRead,
    subject: subjects.ddsList,
    query: [page, limit, since, cursor],
    answer: {
      status: 200,
      schema: listingOf(DdsEntry, 'DdsListing'),
      example: listingExample(ddsExample),
      headers: ['X-Next-Since', 'Link'],
    },
    timeoutMs: listTimeoutMs,
  },
];
