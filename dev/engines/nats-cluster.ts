// A cluster of three nats-servers on this machine, for what only a cluster shows: copies, leaders, servers that are away.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPort } from '../process/port.ts';
import type { Engine } from './engine.ts';
import { startEngine, type EnginesOptions } from './index.ts';

export interface NatsNode {
  /** As nats-server names it where it says who leads a stream. */
  readonly name: string;
  readonly engine: Engine;
}

export interface NatsCluster extends AsyncDisposable {
  /** All three, as NATS_URL has them. */
  readonly url: string;
  readonly nodes: readonly NatsNode[];
  readonly servers: readonly Engine[];
}

export type NatsClusterOptions = Pick<EnginesOptions, 'dataFolder' | 'fresh' | 'temporary' | 'onChange'>;

const names = ['n1', 'n2', 'n3'];
const triesMax = 3;

/** A port of a route is free when it is looked for, and may be taken when it is used. */
export async function startNatsCluster(options: NatsClusterOptions): Promise<NatsCluster> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startThree(options);
    } catch (error) {
      if (tries === triesMax) throw error;
    }
  }
}

async function startThree({ dataFolder, ...options }: NatsClusterOptions): Promise<NatsCluster> {
  await using starting = new AsyncDisposableStack();
  const ports = await Promise.all(names.map(() => findPort()));
  const routes = ports.map((port) => `nats-route://127.0.0.1:${port}`);
  // Two clusters of one name would become one, where a port of a route goes from a node that ended to one of another cluster.
  const cluster = `three-${ports.join('-')}`;
  const starts = names.map(async (name, index): Promise<NatsNode> => {
    const folder = join(dataFolder, name);
    const natsConfig = join(dataFolder, `${name}.conf`);
    await mkdir(dataFolder, { recursive: true });
    await writeFile(natsConfig, configuration(name, ports[index] ?? 0, { routes, cluster }));
    return { name, engine: await startEngine('nats', { ...options, dataFolder: folder, natsConfig }) };
  });
  const outcomes = await Promise.allSettled(starts);
  const nodes = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  for (const { engine } of nodes) starting.use(engine);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  const started = starting.move();
  const servers = nodes.map(({ engine }) => engine);
  return {
    url: servers.map(({ url }) => url).join(','),
    nodes,
    servers,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

interface Together {
  routes: readonly string[];
  /** The name that all of them have in common. */
  cluster: string;
}

/** As docs/operating.md has it. A node that is to end waits for its clients to go for a shorter time than by default. */
const configuration = (name: string, port: number, { routes, cluster }: Together): string =>
  `${[
    `server_name: ${name}`,
    `server_tags: ["${name}"]`,
    'max_payload: 8MB',
    'ping_interval: "1s"',
    'ping_max: 2',
    'lame_duck_duration: "30s"',
    'lame_duck_grace_period: "6s"',
    'jetstream {',
    '  store_dir: $NATS_STORE_DIR',
    '  sync_interval: always',
    '}',
    'cluster {',
    `  name: ${cluster}`,
    `  listen: "127.0.0.1:${port}"`,
    `  routes: [${routes.map((route) => JSON.stringify(route)).join(', ')}]`,
    '}',
  ].join('\n')}\n`;
