// Pushes items of files without checking their types: the service validates each item.
import type { Client, ItemOf, Kind, PlanOptions, PushOptions, PushOutcome } from '@integration-sync/client';
import type { Item } from '../mapping/items.ts';

export const pushUnchecked = (
  client: Client,
  kind: Kind,
  items: readonly Item[],
  options?: PushOptions,
): Promise<PushOutcome> => client.push(kind, unchecked(items), options);

export const planUnchecked = (
  client: Pick<Client, 'plan'>,
  kind: Kind,
  items: readonly Item[],
  options?: PlanOptions,
): Promise<PushOutcome> => client.plan(kind, unchecked(items), options);

const unchecked = (items: readonly Item[]): readonly ItemOf<Kind>[] => (areTyped(items) ? items : []);

const areTyped = (_items: readonly Item[]): _items is readonly (Item & ItemOf<Kind>)[] => true;
