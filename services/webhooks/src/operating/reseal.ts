// Seals all signing secrets and headers again under the first configured key, so that the other keys can be removed. Replicas may
// run meanwhile: an endpoint is updated only if it has not changed, so a concurrent rotation is kept. The update raises the
// version, so a rotation that has read the endpoint before the update must read it again. The command may be aborted and
// repeated.
//
// A previous secret that has expired and that no key decrypts is removed.
import { openSemaphore } from '@integration-sync/runtime/semaphore';
import { isFound, type Collection, type Store } from '@integration-sync/runtime/store';
import { headersSealedFor, type Endpoint, type PreviousSecret } from '../endpoints/endpoint.ts';
import { endpointsCollection } from '../endpoints/endpoint-store.ts';
import { keyIdOf, type Vault } from '../secrets/vault.ts';
import { ofSecrets, sealedWith, secretsOf } from './keys.ts';

export interface ResealProgress {
  resealed: number;
  /** How often an endpoint was read again, because it had changed since it was read. */
  changedMeanwhile: number;
  /** Endpoints with a secret that none of the configured keys decrypts. */
  problems: { endpointId: string; integration: string; reason: string }[];
}

export type Reseal = ReturnType<typeof openReseal>;

const endpointsAtOnce = 200;
const writeLimits = { max: 8 };

type Sealed = Pick<Endpoint, '_id' | 'integration' | 'version' | 'secret' | 'previousSecrets' | 'headers'>;
const sealedOnly = { integration: 1, version: 1, secret: 1, previousSecrets: 1, headers: 1 } as const;

export function openReseal(store: Pick<Store, 'collection'>, vault: Vault) {
  const endpoints = store.collection<Endpoint>(endpointsCollection);
  const left = ofSecrets({ $not: sealedWith(vault.keyIds.slice(0, 1)) });

  return {
    /** Counts, by key, the sealed values: signing secrets, stored previous secrets, and headers. */
    async countByKey() {
      const counts = new Map<string, number>();
      for await (const endpoint of endpoints.find({}, { projection: sealedOnly })) {
        for (const { sealed } of secretsOf(endpoint)) {
          const keyId = keyIdOf(sealed);
          counts.set(keyId, (counts.get(keyId) ?? 0) + 1);
        }
      }
      return Array.from(counts, ([keyId, secrets]) => ({ keyId, secrets }));
    },
    countLeft: () => endpoints.countDocuments(left),
    async run(onProgress: (progress: ResealProgress) => void): Promise<ResealProgress> {
      const progress: ResealProgress = { resealed: 0, changedMeanwhile: 0, problems: [] };
      const limit = openSemaphore(writeLimits).run;
      for (let after = ''; ;) {
        const some: Sealed[] = await endpoints
          .find({ $and: [left, { _id: { $gt: after } }] }, { projection: sealedOnly })
          .sort({ _id: 1 })
          .limit(endpointsAtOnce)
          .toArray();
        await Promise.all(some.map((one) => limit(() => resealOne(endpoints, vault, one, progress))));
        const last = some.at(-1);
        if (last === undefined) return progress;
        after = last._id;
        onProgress(progress);
      }
    },
  };
}

async function resealOne(
  endpoints: Collection<Endpoint>,
  vault: Vault,
  found: Sealed,
  progress: ResealProgress,
): Promise<void> {
  for (let read: Sealed | null = found; read !== null;) {
    const { changed, reason, ...sealed } = sealAgain(vault, read, Date.now());
    const { _id, integration, version, secret }: Sealed = read;
    const asRead = { _id, integration, version, secret };
    const update = { $set: sealed, $inc: { version: 1 } };
    if (!changed || (await isFound(endpoints.updateOne(asRead, update)))) {
      if (changed) progress.resealed += 1;
      if (reason !== undefined) progress.problems.push({ endpointId: _id, integration, reason });
      return;
    }
    progress.changedMeanwhile += 1;
    // The endpoint is read again if a caller has changed or deleted it, or another run of this command has resealed it.
    read = await endpoints.findOne({ _id, integration }, { projection: sealedOnly });
  }
}

function sealAgain(vault: Vault, found: Sealed, nowMs: number) {
  const { _id, secret, previousSecrets = [], headers } = found;
  let changed = false;
  /** Why a secret could not be sealed again; undefined if all secrets were sealed. */
  let reason: string | undefined;
  const again = (sealed: string, boundTo = _id): string | undefined => {
    if (keyIdOf(sealed) === vault.keyIds[0]) return sealed;
    try {
      const resealed = vault.seal(vault.open(sealed, boundTo), boundTo);
      changed = true;
      return resealed;
    } catch {
      return undefined;
    }
  };
  const kept = (sealed: string): string => {
    reason = `the key "${keyIdOf(sealed)}", with which it is sealed, is not configured or has other bytes`;
    return sealed;
  };
  const secretAgain = again(secret) ?? kept(secret);
  const previousAgain = previousSecrets.flatMap(({ sealed, expiresAt }): PreviousSecret[] => {
    const resealed = again(sealed);
    if (resealed !== undefined) return [{ sealed: resealed, expiresAt }];
    if (expiresAt.getTime() > nowMs - clocksDifferMs) return [{ sealed: kept(sealed), expiresAt }];
    changed = true;
    return [];
  });
  const headersAgain =
    headers === undefined ? {} : { headers: again(headers, headersSealedFor(_id)) ?? kept(headers) };
  return { secret: secretAgain, previousSecrets: previousAgain, ...headersAgain, changed, reason };
}

/** How long after its expiry a secret is still kept: a replica whose clock is behind may still sign with it. */
const clocksDifferMs = 60_000;
