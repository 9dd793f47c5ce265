// A cluster of three nats-servers on this machine, for what only a cluster shows: copies, leaders, absent
// servers.
import type { Engine } from '@integration-sync/dev/engines';
import { findPort } from '@integration-sync/dev/port';
import { startNatsAs } from './nats.ts';

export interface NatsCluster extends AsyncDisposable {
  /** All three, as NATS_URL has them. */
  readonly url: string;
  readonly servers: readonly Engine[];
}

const triesMax = 3;

/** A port for routes is free when this finds it, and another process may take it before nats-server does. */
export async function startNatsCluster(): Promise<NatsCluster> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startThree();
    } catch (error) {
      if (tries === triesMax) throw error;
    }
  }
}

async function startThree(): Promise<NatsCluster> {
  await using starting = new AsyncDisposableStack();
  const ports = [await findPort(), await findPort(), await findPort()];
  const routes = ports.map((port) => `nats-route://127.0.0.1:${port}`);
  const starts = ports.map((port, index) =>
    startNatsAs([
      `server_name: n${index + 1}`,
      `server_tags: ["n${index + 1}"]`,
      'max_payload: 8MB',
      'jetstream {',
      '  store_dir: $NATS_STORE_DIR',
      '  sync_interval: always',
      '}',
      'cluster {',
      '  name: three',
      `  listen: "127.0.0.1:${port}"`,
      `  routes: [${routes.map((route) => JSON.stringify(route)).join(', ')}]`,
      '}',
    ]),
  );
  const outcomes = await Promise.allSettled(starts);
  const servers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  for (const server of servers) starting.use(server);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  const started = starting.move();
  return {
    url: servers.map(({ url }) => url).join(','),
    servers,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
