// The settings of every service that takes pushes.
import { baseSettings, storeSettings } from '@integration-sync/runtime/config';
import { Type, type Static } from 'typebox';

const syncSettings = {
  PUSHES_AT_ONCE_MAX: Type.Integer({
    description:
      'How many pushes one process carries out at once; others wait, in turns over integrations. A process has no more to give than four use up.',
    default: 4,
    minimum: 1,
    maximum: 1_000,
  }),
  REQUESTS_IN_FLIGHT_MAX: Type.Integer({
    description:
      'How many requests of a kind other than pushes one process works on at once; others wait, in turns over integrations.',
    default: 16,
    minimum: 1,
    maximum: 10_000,
  }),
};

export const RecordServiceConfig = Type.Object({ ...baseSettings, ...storeSettings, ...syncSettings });
export type RecordServiceConfig = Static<typeof RecordServiceConfig>;
