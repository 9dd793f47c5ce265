// What each command is told: settings of the services, by the same names, and none of its own. A command that changes what
// a service has is best run with that service's environment.
import { baseSettings, storeSettings } from '@integration-sync/runtime/config';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { Type, type Static } from 'typebox';

const busSettings = {
  ...baseSettings,
  // What a command has to say it says itself; the log has what the clients of the engines meet.
  LOG_LEVEL: { ...baseSettings.LOG_LEVEL, default: 'warn' },
} as typeof baseSettings;

export const StreamsConfig = Type.Object(busSettings);
export type StreamsConfig = Static<typeof StreamsConfig>;

export const PurgeConfig = Type.Object({ ...busSettings, ...storeSettings });
export type PurgeConfig = Static<typeof PurgeConfig>;

export const ResealConfig = Type.Object({
  ...busSettings,
  ...storeSettings,
  WEBHOOK_SECRET_KEY: WebhooksConfig.properties.WEBHOOK_SECRET_KEY,
});

export const ClientConfig = Type.Object({
  AUTH_CLIENTS_FILE: Type.String({
    description: 'File of the clients.',
    minLength: 1,
    expected: 'the path of a file',
  }),
});
