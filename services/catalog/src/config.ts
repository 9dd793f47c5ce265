// The settings of the catalog service.
import { baseSettings, storeSettings } from '@integration-sync/runtime/config';
import { syncSettings } from '@integration-sync/sync';
import { Type, type Static } from 'typebox';

export const CatalogConfig = Type.Object({
  ...baseSettings,
  ...storeSettings,
  ...syncSettings,
});
export type CatalogConfig = Static<typeof CatalogConfig>;
