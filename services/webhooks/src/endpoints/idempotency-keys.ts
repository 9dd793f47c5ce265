// Registrations of webhooks by `Idempotency-Key`, kept for 24 hours, each with the id of its webhook and a hash of its body. The
// key is stored before the webhook, so that of two concurrent requests the second completes the registration of the first.
import { createHmac, hash } from 'node:crypto';
import { limits } from '@integration-sync/contracts';
import { isFirst, type Store } from '@integration-sync/runtime/store';

export interface Registration {
  /** A hash of the integration and its `Idempotency-Key`. */
  _id: string;
  integration: string;
  /** A hash of the body, keyed with the `Idempotency-Key`. */
  fingerprint: string;
  endpointId: string;
  at: Date;
  isDone: boolean;
}

export type Registrations = Awaited<ReturnType<typeof openRegistrations>>;

export const registrationsCollection = 'webhook_registrations';

export async function openRegistrations(store: Store) {
  await store.ensureIndexes(registrationsCollection, [{ name: 'age', key: { at: 1 } }]);
  const registrations = store.collection<Registration>(registrationsCollection);
  return {
    /** Stores a registration. Resolves with it, or with the earlier registration of the same `Idempotency-Key`. */
    async begin(begun: Registration): Promise<Registration> {
      await registrations.deleteMany({
        at: { $lt: new Date(begun.at.getTime() - limits.idempotencyKeyKeptMs) },
      });
      for (;;) {
        if (await isFirst(registrations.insertOne(begun))) return begun;
        const before = await registrations.findOne({ _id: begun._id });
        if (before !== null) return before;
      }
    },
    /** Finishes the registration of this webhook. After 24 hours the same `Idempotency-Key` may be that of another webhook. */
    async finish(id: string, endpointId: string): Promise<void> {
      await registrations.updateOne({ _id: id, endpointId }, { $set: { isDone: true } });
    },
    /** Frees the `Idempotency-Key` of a registration that was refused. */
    async drop(id: string): Promise<void> {
      await registrations.deleteOne({ _id: id, isDone: false });
    },
  };
}

export const registrationOf = (
  { integration, key, body }: { integration: string; key: string; body: unknown },
  endpointId: string,
): Registration => ({
  _id: hash('sha256', `${integration} ${key}`),
  integration,
  fingerprint: createHmac('sha256', key)
    .update(JSON.stringify(sorted(body)))
    .digest('hex'),
  endpointId,
  at: new Date(),
  isDone: false,
});

/** Sorts the keys of a body, so that their order does not change its fingerprint. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, part]) => [name, sorted(part)]);
}
