// The settings of each command, all of which are settings of the services, with the same names. A command that changes data of
// a service is best run with the environment of that service.
import { baseSettings, storeSettings } from '@integration-sync/runtime/config';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { Type, type Static } from 'typebox';

const busSettings = {
  ...baseSettings,
  // A command prints its findings itself; the log has only warnings of the NATS and MongoDB clients.
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
    description: 'The file of clients that the gateway reads.',
    minLength: 1,
    expected: 'the path of a file',
  }),
});
