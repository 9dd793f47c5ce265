// Endpoints in memory with their decrypted secrets, so that a delivery that succeeds needs no query to MongoDB. A delivery names
// a version and an epoch of its endpoint, and uses no entry that is older.
import { openBatcher } from '@integration-sync/runtime/batcher';
import { LRUCache } from 'lru-cache';
import { type SigningKey, signingKeyOf } from '../secrets/signing-secret.ts';
import type { Vault } from '../secrets/vault.ts';
import { type Endpoint, headersSealedFor, servingSecrets } from './endpoint.ts';
import type { Endpoints } from './endpoint-store.ts';

export interface KnownEndpoint {
  readonly endpoint: Endpoint;
  readonly key: SigningKey;
  readonly previousKeys: readonly { key: SigningKey; expiresAtMs: number }[];
  /** The caller's headers, as flat name-value pairs. */
  readonly headers: readonly string[];
}

type Meant = Pick<Endpoint, '_id' | 'version' | 'epoch'>;

export type EndpointCache = ReturnType<typeof openEndpointCache>;

/** How long an entry of the cache is used: the broadcast of a change of the endpoint may get lost. */
const keptMs = 30_000;

export function openEndpointCache(
  endpoints: Pick<Endpoints, 'findAll'>,
  vault: Vault,
  endpointsMax = 20_000,
) {
  const entries = new LRUCache<string, KnownEndpoint>({ max: endpointsMax, ttl: keptMs, ttlResolution: 0 });
  const find = openLoader(endpoints);

  const cached = ({ _id, version, epoch }: Meant): KnownEndpoint | undefined => {
    const known = entries.get(_id);
    if (known === undefined || known.endpoint.version < version) return undefined;
    return known.endpoint.epoch >= epoch ? known : undefined;
  };

  return {
    async get(meant: Meant): Promise<KnownEndpoint | null> {
      const before = cached(meant);
      if (before !== undefined) return before;
      const found = await find(meant._id);
      if (found === null) return null;
      const known = prepareEndpoint(found, vault);
      entries.set(meant._id, known);
      return known;
    },
    /** Throws if no key of this replica decrypts the endpoint's secrets. */
    prepare: (endpoint: Endpoint) => prepareEndpoint(endpoint, vault),
    forgetAll: (): void => entries.clear(),
  };
}

function prepareEndpoint(endpoint: Endpoint, vault: Vault): KnownEndpoint {
  const { _id, secret } = endpoint;
  return {
    // The copy saves memory: the object that the MongoDB driver returns is a hash table of twice the size.
    endpoint: { ...endpoint },
    key: signingKeyOf(vault.open(secret, _id)),
    previousKeys: servingSecrets(endpoint, Date.now()).map(({ sealed, expiresAt }) => ({
      key: signingKeyOf(vault.open(sealed, _id)),
      expiresAtMs: expiresAt.getTime(),
    })),
    headers:
      endpoint.headers === undefined ? [] : JSON.parse(vault.open(endpoint.headers, headersSealedFor(_id))),
  };
}

const idsMax = 500;

/** Reads endpoints by their ids; concurrent reads share one query. */
const openLoader = (endpoints: Pick<Endpoints, 'findAll'>): ((id: string) => Promise<Endpoint | null>) =>
  openBatcher(async (ids) => {
    const found = new Map((await endpoints.findAll(ids)).map((endpoint) => [endpoint._id, endpoint]));
    return ids.map((id) => found.get(id) ?? null);
  }, idsMax);
