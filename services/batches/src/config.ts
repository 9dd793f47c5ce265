// The settings of the batches service.
import { baseSettings, storeSettings } from '@integration-sync/runtime/config';
import { syncSettings } from '@integration-sync/sync';
import { Type, type Static } from 'typebox';

export const BatchesConfig = Type.Object({
  ...baseSettings,
  ...storeSettings,
  ...syncSettings,
});
export type BatchesConfig = Static<typeof BatchesConfig>;
