// The webhooks of an integration as a listing: in the order of their registration, by page or by cursor. A cursor names the
// webhook after which the next page begins. A caller can neither make nor change a cursor, because it is encrypted.
import {
  basePath,
  checkBesideCursor,
  cursorExpected,
  type FailureEntry,
  readListingQuery,
  queryErrorsOf,
  refuseIfAny,
  subjects,
} from '@integration-sync/contracts';
import { queryOf, type BusHandler } from '@integration-sync/runtime/bus';
import { openSealer } from '@integration-sync/runtime/seal';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints, Revisions } from '../endpoints/endpoint-store.ts';
import { invalidRequest } from './request-body.ts';
import { showingOf } from './webhook-details.ts';

interface Walk {
  /** The last webhook before the page; if undefined, `page` says where the page begins. */
  after: Pick<Endpoint, '_id' | 'createdAt'> | undefined;
  page: number;
  limit: number;
}

export const listingHandlers = (
  endpoints: Pick<Endpoints, 'list' | 'count'>,
  revisions: Pick<Revisions, 'of'>,
  cursorKey: string,
): Record<string, BusHandler> => ({
  [subjects.endpointsList]: async (request) => {
    const { integration } = request;
    const query = queryOf(request);
    const errors = queryErrorsOf(request);
    const shownAs = showingOf(query, errors);
    const { after, page, limit } = readWalk(query, cursorKey, integration, errors);
    const skip = after === undefined ? (page - 1) * limit : 0;
    const [found, total] = await Promise.all([
      endpoints.list(integration, { after, skip, limit: limit + 1 }),
      endpoints.count(integration),
    ]);
    // An integration without webhooks and revision was removed by an operator: the cursor of the request is refused.
    if (after !== undefined && total === 0 && (await revisions.of([integration])).length === 0)
      throw invalidRequest([{ pointer: 'cursor', detail: `cursor: ${cursorExpected}` }]);
    const shown = found.slice(0, limit);
    const last = found.length > limit ? shown.at(-1) : undefined;
    const body = JSON.stringify({ entities: shown.map(shownAs), total, page, limit });
    if (last === undefined) return { body };
    const next: Sealed = [last._id, last.createdAt.getTime(), page + 1, limit];
    const cursor = cursors(cursorKey).seal(purposeOf(integration), next);
    return { body, headers: { link: linkTo(cursor, query.get('details') === 'true') } };
  },
});

function readWalk(query: URLSearchParams, key: string, integration: string, errors: FailureEntry[]): Walk {
  // `since` is removed, because `readListingQuery` would check it, but a listing of webhooks has no `since`.
  query.delete('since');
  const { page, limit, cursor } = readListingQuery(query, errors);
  const walk = cursor === undefined ? undefined : openWalk(key, integration, cursor);
  if (cursor !== undefined) checkBesideCursor(query, { limit }, walk && { limit: walk.limit }, errors);
  refuseIfAny(errors);
  return walk ?? { after: undefined, page, limit };
}

type Sealed = [id: string, createdAtMs: number, page: number, limit: number];

/** The purpose that a cursor is sealed for. Cursors of other listings have purposes without a space, and are refused here. */
const purposeOf = (integration: string): string => `webhooks ${integration}`;

const cursors = (key: string) => openSealer<Sealed>(`cursor ${key}`);

/** Reads a cursor. Undefined for a text that webhooks did not issue as a cursor for this integration. */
function openWalk(key: string, integration: string, text: string): Walk | undefined {
  const sealed = cursors(key).unseal(purposeOf(integration), text);
  if (sealed === undefined) return undefined;
  const [_id, createdAtMs, page, limit] = sealed;
  return { after: { _id, createdAt: new Date(createdAtMs) }, page, limit };
}

const linkTo = (cursor: string, details: boolean): string =>
  `<${basePath}/webhook-events?cursor=${cursor}${details ? '&details=true' : ''}>; rel="next"`;
