// The four services as the local stack runs them: which there are and what settings each gets.
import { join, resolve } from 'node:path';
import { cacheFolder } from '../engines/cache.ts';
import type { Environment } from '../engines/environment.ts';
import type { LocalKey } from './key.ts';
import type { Secrets } from './secrets.ts';

/** The services in the order in which they stop: the gateway first, so that it sends requests to no stopping service. */
export const serviceNames = ['gateway', 'catalog', 'batches', 'webhooks'] as const;
export type Service = (typeof serviceNames)[number];

/** The gateway listens on a fixed port, so it has one replica. */
export const replicatedServices = ['catalog', 'batches', 'webhooks'] as const;
export type Replicas = Partial<Record<(typeof replicatedServices)[number], number>>;

export const repositoryFolder = resolve(import.meta.dirname, '../..');

/**
 * The options of Node for a service, as in the image (Dockerfile). With a larger young generation, most objects of a push are
 * garbage before V8 would copy them.
 */
export const nodeFlags = ['--max-semi-space-size=32'];

export const mainOf = (service: Service): string =>
  join(repositoryFolder, 'services', service, 'src/main.ts');

export interface Addresses {
  nats: string;
  natsMonitor: string | undefined;
  mongodb: string;
  database: string;
  gatewayPort: number;
}

/** The database of a stack, unless the environment names another one. */
export const databaseOf = (environment: Environment): string =>
  environment['MONGODB_DATABASE'] || 'integration_sync';

/** A stack on this machine has the console, unless the environment says otherwise. */
export const consoleOf = (environment: Environment): string => environment['CONSOLE'] || 'on';

export type Settings = Record<string, string>;

/** The settings that the stack adds to the environment of each service; values of the environment stay. */
export function settingsOf(
  { nats, natsMonitor, mongodb, database, gatewayPort }: Addresses,
  { authSecret, webhookSecretKey, clientsFile }: Secrets & Pick<LocalKey, 'clientsFile'>,
  environment: Environment,
): Record<Service, Settings> {
  const all: Settings = {
    NATS_URL: nats,
    METRICS_PORT: '0',
    // Node keeps compiled code, so that the restart of a dead service takes half the time.
    NODE_COMPILE_CACHE: environment['NODE_COMPILE_CACHE'] || join(cacheFolder(environment), 'compiled'),
    // glibc returns the memory of a large body to the system immediately, as in the image.
    MALLOC_MMAP_THRESHOLD_: '1000000',
  };
  if (natsMonitor !== undefined) all['NATS_MONITOR_URL'] = natsMonitor;
  const signing: Settings = authSecret === undefined ? {} : { AUTH_JWT_SECRET: authSecret };
  const stored: Settings = { ...all, MONGODB_URL: mongodb, MONGODB_DATABASE: database };
  return {
    gateway: {
      ...all,
      ...signing,
      AUTH_CLIENTS_FILE: clientsFile,
      GATEWAY_PORT: String(gatewayPort),
      CONSOLE: consoleOf(environment),
    },
    catalog: stored,
    batches: stored,
    webhooks: {
      ...stored,
      WEBHOOK_SECRET_KEY: webhookSecretKey,
      // Receivers under development run on this machine; without this setting, webhooks refuses loopback addresses.
      WEBHOOK_EGRESS_ALLOW: environment['WEBHOOK_EGRESS_ALLOW'] ?? '127.0.0.0/8,::1/128',
    },
  };
}
