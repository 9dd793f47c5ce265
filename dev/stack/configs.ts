// The settings of each service, all of which the stack checks before it starts anything.
import { BatchesConfig } from '@integration-sync/batches/config';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { GatewayConfig } from '@integration-sync/gateway/config';
import { ConfigError, readConfig } from '@integration-sync/runtime/config';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import type { TObject } from 'typebox';
import type { Environment } from '../engines/environment.ts';
import { StartFailure } from './failure.ts';
import type { LocalKey } from './key.ts';
import type { Secrets } from './secrets.ts';
import { databaseOf, serviceNames, settingsOf, type Service } from './services.ts';

export const configs: Readonly<Record<Service, TObject>> = {
  gateway: GatewayConfig,
  catalog: CatalogConfig,
  batches: BatchesConfig,
  webhooks: WebhooksConfig,
};

/** The addresses of the engines are not known yet, unless the environment names them. */
export function checkSettings(
  environment: Environment,
  secrets: Secrets & Pick<LocalKey, 'clientsFile'>,
): void {
  const settings = settingsOf(
    {
      nats: environment['NATS_URL'] || 'nats://127.0.0.1:4222',
      natsMonitor: environment['NATS_MONITOR_URL'],
      mongodb: environment['MONGODB_URL'] || 'mongodb://127.0.0.1:27017',
      database: databaseOf(environment),
      gatewayPort: 0,
    },
    secrets,
    environment,
  );
  const problems = new Set<string>();
  for (const service of serviceNames) {
    const told = { ...environment, ...settings[service], GATEWAY_PORT: environment['GATEWAY_PORT'] };
    try {
      readConfig(configs[service], told);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const problem of error.message.split('\n')) problems.add(problem);
    }
  }
  if (problems.size > 0) throw new StartFailure([...problems].join('\n'));
}
