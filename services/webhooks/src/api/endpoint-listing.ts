// The webhooks of an integration as a listing: in the order of their registration, by page or by cursor. A cursor says
// after which webhook the next page begins; it is sealed, so that a caller can carry it, but neither make nor change one.
// What `details=true` adds: handlers.ts.
import {
  basePath,
  checkBesideCursor,
  cursorExpected,
  type FailureEntry,
  readListingQuery,
  refuseIfAny,
  subjects,
} from '@integration-sync/contracts';
import { queryOf, type BusHandler } from '@integration-sync/runtime/bus';
import { seal, unseal } from '@integration-sync/runtime/seal';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints, Revisions } from '../endpoints/store.ts';
import { invalidRequest } from './body.ts';
import { showingOf } from './handlers.ts';

interface ListingOptions {
  endpoints: Pick<Endpoints, 'list' | 'count'>;
  revisions: Pick<Revisions, 'of'>;
  cursorKey: string;
}

interface Walk {
  /** The last webhook before the page; without it, whole pages are passed over. */
  after: Pick<Endpoint, '_id' | 'createdAt'> | undefined;
  page: number;
  limit: number;
}

export const listingHandlers = ({
  endpoints,
  revisions,
  cursorKey,
}: ListingOptions): Record<string, BusHandler> => ({
  [subjects.endpointsList]: async (request) => {
    const { integration } = request;
    const query = queryOf(request);
    const errors: FailureEntry[] = [];
    const shownAs = showingOf(query, errors);
    const walk = readWalk(query, { key: cursorKey, integration }, errors);
    const { after, page, limit } = walk;
    const [found, total] = await Promise.all([
      endpoints.list(integration, {
        after,
        skip: after === undefined ? (page - 1) * limit : 0,
        limit: limit + 1,
      }),
      endpoints.count(integration),
    ]);
    // A removed integration has not even a revision.
    if (after !== undefined && total === 0 && (await revisions.of([integration])).length === 0)
      throw invalidRequest([{ pointer: 'cursor', detail: `cursor: ${cursorExpected}` }]);
    const shown = found.slice(0, limit);
    const last = found.length > limit ? shown.at(-1) : undefined;
    return {
      body: JSON.stringify({ entities: shown.map(shownAs), total, page, limit }),
      headers:
        last === undefined
          ? {}
          : {
              link: linkTo(
                sealWalk(cursorKey, integration, { after: last, page: page + 1, limit }),
                query.get('details') === 'true',
              ),
            },
    };
  },
});

/** Throws the failure that names everything that is wrong. */
function readWalk(
  query: URLSearchParams,
  { key, integration }: { key: string; integration: string },
  errors: FailureEntry[],
): Walk {
  // It is no listing of what was synced, and has no `since`.
  query.delete('since');
  const { page, limit, cursor } = readListingQuery(query, errors);
  if (cursor === undefined) {
    refuseIfAny(errors);
    return { after: undefined, page, limit };
  }
  const walk = openWalk(key, integration, cursor);
  checkBesideCursor(query, { limit }, walk && { limit: walk.limit }, errors);
  refuseIfAny(errors);
  return walk ?? { after: undefined, page, limit };
}

type Sealed = [id: string, createdAtMs: number, page: number, limit: number];

/** Names of integrations have no space, so that this is nothing that another cursor was made for. */
const purposeOf = (integration: string): string => `webhooks ${integration}`;

function sealWalk(key: string, integration: string, { after, page, limit }: Walk): string {
  const sealed: Sealed = [after?._id ?? '', after?.createdAt.getTime() ?? 0, page, limit];
  return seal(`cursor ${key}`, purposeOf(integration), JSON.stringify(sealed));
}

/** Undefined for a text that webhooks did not issue for this integration. */
function openWalk(key: string, integration: string, text: string): Walk | undefined {
  const content = unseal(`cursor ${key}`, purposeOf(integration), text);
  if (content === undefined) return undefined;
  const [_id, createdAtMs, page, limit]: Sealed = JSON.parse(content);
  return { after: { _id, createdAt: new Date(createdAtMs) }, page, limit };
}

const linkTo = (cursor: string, details: boolean): string =>
  `<${basePath}/webhook-events?cursor=${cursor}${details ? '&details=true' : ''}>; rel="next"`;
