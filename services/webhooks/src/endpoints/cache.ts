// Endpoints in memory with their opened secrets, so that a delivery that succeeds needs no query to MongoDB. A delivery names the
// version and epoch of its endpoint, and uses no older entry. Broadcasts of changes remove entries as well.
import { openBatcher } from '@integration-sync/runtime/batcher';
import { LRUCache } from 'lru-cache';
import { type SigningKey, signingKeyOf } from '../secrets/signing-secret.ts';
import type { Vault } from '../secrets/vault.ts';
import { type Endpoint, headersSealedFor, servingSecrets } from './endpoint.ts';
import type { Endpoints } from './store.ts';

export interface KnownEndpoint {
  readonly endpoint: Endpoint;
  readonly key: SigningKey;
  readonly previousKeys: readonly { key: SigningKey; expiresAtMs: number }[];
  /** The caller's headers, as flat name-value pairs. */
  readonly headers: readonly string[];
}

/** The endpoint, version and epoch that a delivery is meant for. */
type Meant = Pick<Endpoint, '_id' | 'version' | 'epoch'>;

/** This replica cannot open the endpoint's secret or headers, and so cannot send to it. */
class Unusable extends Error {
  override readonly name = 'Unusable';
}

export type EndpointCache = ReturnType<typeof openEndpointCache>;

/** The bound on the age of an entry, in case the broadcast of a change gets lost. */
const keptMs = 30_000;

export function openEndpointCache(
  endpoints: Pick<Endpoints, 'findAll'>,
  vault: Vault,
  endpointsMax = 20_000,
) {
  const entries = new LRUCache<string, { known: KnownEndpoint | null; until: number }>({ max: endpointsMax });
  /** Loads under way. A load that `forget` removed may have missed a change, and is not cached. */
  const loads = new Map<string, Promise<KnownEndpoint | null>>();
  const find = openLoader(endpoints);

  const read = async (id: string, isThere: () => boolean): Promise<KnownEndpoint | null> => {
    try {
      const found = await find(id);
      const known = found === null ? null : prepareEndpoint(found, vault);
      if (isThere()) entries.set(id, { known, until: performance.now() + keptMs });
      return known;
    } finally {
      if (isThere()) loads.delete(id);
    }
  };

  const load = (id: string): Promise<KnownEndpoint | null> => {
    const started = read(id, () => loads.get(id) === started);
    loads.set(id, started);
    return started;
  };

  /** Undefined without a recent entry; null for an endpoint that does not exist. */
  const peek = ({ _id, version, epoch }: Meant): KnownEndpoint | null | undefined => {
    const entry = entries.get(_id);
    if (entry === undefined || entry.until < performance.now()) return undefined;
    const { known } = entry;
    if (known !== null && (known.endpoint.version < version || known.endpoint.epoch < epoch))
      return undefined;
    return known;
  };

  const forget = (id: string): void => {
    entries.delete(id);
    loads.delete(id);
  };

  return {
    /** Null for an endpoint that does not exist. */
    async get(meant: Meant): Promise<KnownEndpoint | null> {
      const known = peek(meant);
      if (known !== undefined) return known;
      const loading = loads.get(meant._id);
      if (loading !== undefined) {
        const loaded = await loading;
        // A load that began before a change may have missed the change.
        if (loaded === null || loaded.endpoint.version >= meant.version) return loaded;
        forget(meant._id);
      }
      return load(meant._id);
    },
    /** Throws `Unusable` if no key of this replica opens the endpoint's secrets. */
    prepare: (endpoint: Endpoint) => prepareEndpoint(endpoint, vault),
    forget,
    forgetAll(): void {
      for (const id of [...entries.keys(), ...loads.keys()]) forget(id);
    },
  };
}

/** Opens the endpoint's secrets and headers. */
function prepareEndpoint(endpoint: Endpoint, vault: Vault): KnownEndpoint {
  const { _id, secret } = endpoint;
  try {
    return {
      // A copy: the driver's object is a hash table of twice the size.
      endpoint: { ...endpoint },
      key: signingKeyOf(vault.open(secret, _id)),
      previousKeys: servingSecrets(endpoint, Date.now()).map(({ sealed, expiresAt }) => ({
        key: signingKeyOf(vault.open(sealed, _id)),
        expiresAtMs: expiresAt.getTime(),
      })),
      headers:
        endpoint.headers === undefined ? [] : JSON.parse(vault.open(endpoint.headers, headersSealedFor(_id))),
    };
  } catch (cause) {
    throw new Unusable(
      'the secret or the headers of the endpoint cannot be opened with the keys of this replica',
      { cause },
    );
  }
}

const idsMax = 500;

/** Reads endpoints by their ids, many with one query. */
const openLoader = (endpoints: Pick<Endpoints, 'findAll'>): ((id: string) => Promise<Endpoint | null>) =>
  openBatcher(async (ids) => {
    const found = new Map((await endpoints.findAll(ids)).map((endpoint) => [endpoint._id, endpoint]));
    return ids.map((id) => found.get(id) ?? null);
  }, idsMax);
