// For `ops integrations`: how many webhooks of each integration are disabled or behind.
import type { Store } from '@integration-sync/runtime/store';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { endpointsCollection } from '../endpoints/endpoint-store.ts';
import { offsetsCollection, type StoredOffsets } from '../log/offsets.ts';

export interface WebhookStates {
  webhooks: number;
  /** How many webhooks are disabled by failures or by a 410, not by a caller. */
  disabled: number;
  behind: number;
}

/** Counts webhooks by integration; an integration without webhooks is absent. */
export async function readWebhookStates(
  store: Pick<Store, 'collection'>,
): Promise<Map<string, WebhookStates>> {
  const shown = { integration: 1, active: 1, disabledReason: 1 };
  const [endpoints, offsets] = await Promise.all([
    store.collection<Endpoint>(endpointsCollection).find({}, { projection: shown }).toArray(),
    store.collection<StoredOffsets>(offsetsCollection).find({ isBehind: true }).toArray(),
  ]);
  const behind = new Set(offsets.flatMap((one) => Object.keys(one.offsets)));
  const states = new Map<string, WebhookStates>();
  for (const { _id, integration, active, disabledReason } of endpoints) {
    const state = states.get(integration) ?? { webhooks: 0, disabled: 0, behind: 0 };
    state.webhooks += 1;
    if (!active && disabledReason !== 'manual') state.disabled += 1;
    if (active && behind.has(_id)) state.behind += 1;
    states.set(integration, state);
  }
  return states;
}
