// All four services in this process, on a nats-server with the configuration of deploy/nats, each with its own login;
// two replicas of each service but the gateway.
import { randomUUID } from 'node:crypto';
import { startBatches } from '@integration-sync/batches';
import { BatchesConfig } from '@integration-sync/batches/config';
import { startCatalog } from '@integration-sync/catalog';
import { CatalogConfig } from '@integration-sync/catalog/config';
import { readConfig } from '@integration-sync/runtime/config';
import { startWebhooks, type Webhooks } from '@integration-sync/webhooks';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { token } from './access-tokens.ts';
import { openGateway } from './gateway.ts';
import { callHttp, type HttpAnswer } from './http.ts';
import { openTestLog } from './log.ts';
import { runOps } from './ops.ts';
import { startNatsWithUsers, type NatsWithUsers, type User } from './nats-users.ts';
import { secretKey } from './webhooks.ts';

export interface SystemWithUsers extends AsyncDisposable {
  readonly nats: NatsWithUsers;
  readonly gatewayUrl: string;
  /** The settings of a process with this login. */
  environmentOf(user: User): Record<string, string>;
  /** What catalog, batches and webhooks logged. */
  logText(): string;
  /** The permission violations that nats-server reported to the services. */
  refusals(): string[];
  /** The pages of metrics of all replicas of webhooks. */
  webhooksMetrics(): Promise<string>;
  call(integration: string, method: string, path: string, body?: unknown): Promise<HttpAnswer>;
}

export async function openSystemWithUsers(mongodb: string, natsConf?: string): Promise<SystemWithUsers> {
  await using opening = new AsyncDisposableStack();
  const nats = opening.use(await startNatsWithUsers(natsConf));
  const { log, text: logText } = openTestLog('test', 'info');
  const database = `users_${randomUUID().replaceAll('-', '')}`;
  const environmentOf = (service: User) => ({
    NATS_URL: nats.urlOf(service),
    MONGODB_URL: mongodb,
    MONGODB_DATABASE: database,
    WEBHOOK_SECRET_KEY: secretKey,
    WEBHOOK_EGRESS_ALLOW: '127.0.0.0/8',
  });
  const applied = await runOps(['streams', '--apply'], { NATS_URL: nats.urlOf('ops') });
  if (applied.code !== 0) throw new Error(applied.stderr);
  const webhooks: Webhooks[] = [];
  for (let replica = 0; replica < 2; replica += 1) {
    opening.use(await startCatalog(readConfig(CatalogConfig, environmentOf('catalog')), { log }));
    opening.use(await startBatches(readConfig(BatchesConfig, environmentOf('batches')), { log }));
    const config = readConfig(WebhooksConfig, environmentOf('webhooks'));
    webhooks.push(opening.use(await startWebhooks(config, { log })));
  }
  const gateway = opening.use(await openGateway(nats.urlOf('gateway')));
  const open = opening.move();
  return {
    nats,
    gatewayUrl: gateway.url,
    environmentOf,
    logText,
    refusals: () =>
      [
        ...logText()
          .concat(gateway.logText())
          .matchAll(/permissions violation[^,]*/gi),
      ].map(String),
    async webhooksMetrics() {
      const texts = webhooks.map(async ({ metricsUrl }) => (await fetch(metricsUrl)).text());
      return (await Promise.all(texts)).join('');
    },
    call: (integration, method, path, body) =>
      callHttp(
        `${gateway.url}/api/v1/integration${path}`,
        token({ integration_id: integration }),
        method,
        body,
      ),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}
