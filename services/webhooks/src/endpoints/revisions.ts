// A revision for each integration that has ever had an endpoint. Every change of its endpoints replaces it before the
// change is answered, so a replica that finds the revision under which it read the endpoints knows that they are as
// they were.
import { randomUUID } from 'node:crypto';
import { isFirst, type Store } from '@integration-sync/runtime/store';

export interface Revision {
  /** The integration. */
  _id: string;
  revision: string;
}

export interface Revisions {
  of(integrations: readonly string[]): Promise<Revision[]>;
  /** The endpoints of the integration have changed. */
  changed(integration: string): Promise<void>;
}

export const revisionsCollection = 'webhook_revisions';

export function openRevisions(store: Store): Revisions {
  const revisions = store.collection<Revision>(revisionsCollection);
  return {
    of: (integrations) => revisions.find({ _id: { $in: [...integrations] } }).toArray(),
    async changed(integration) {
      const revision = randomUUID();
      const replace = () => revisions.updateOne({ _id: integration }, { $set: { revision } });
      if ((await replace()).matchedCount === 1) return;
      if (!(await isFirst(revisions.insertOne({ _id: integration, revision })))) await replace();
    },
  };
}
