// Endpoints by their ids, many with one look-up.
import { openBatcher } from '@integration-sync/runtime/batcher';
import type { Endpoint } from './endpoint.ts';
import type { Endpoints } from './store.ts';

const idsMax = 500;

export const openLoader = (
  endpoints: Pick<Endpoints, 'findAll'>,
): ((id: string) => Promise<Endpoint | null>) =>
  openBatcher(async (ids) => {
    const found = new Map((await endpoints.findAll(ids)).map((endpoint) => [endpoint._id, endpoint]));
    return ids.map((id) => found.get(id) ?? null);
  }, idsMax);
