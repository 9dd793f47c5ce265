// Endpoints by their ids, many with one look-up.
import type { Endpoint } from './endpoint.ts';
import type { Endpoints } from './endpoints.ts';
import { askInRounds } from './rounds.ts';
import type { Turns } from './turns.ts';

const idsMax = 500;

export const openFinding = (
  endpoints: Pick<Endpoints, 'findAll'>,
  inTurn?: Turns,
): ((id: string) => Promise<Endpoint | null>) =>
  askInRounds(
    async (ids) => {
      const found = new Map((await endpoints.findAll(ids)).map((endpoint) => [endpoint._id, endpoint]));
      return ids.map((id) => found.get(id) ?? null);
    },
    idsMax,
    inTurn,
  );
