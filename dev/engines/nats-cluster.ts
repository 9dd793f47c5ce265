// A cluster of three nats-servers on this machine, for tests that need copies, leaders or servers that are away.
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { findPort } from '../process/port.ts';
import type { Engine } from './engine.ts';
import { startEngine, type EnginesOptions } from './index.ts';
import { linesOfAll } from './nats.ts';

export interface NatsNode {
  /** The name by which nats-server reports the leader of a stream. */
  readonly name: string;
  readonly engine: Engine;
}

export interface NatsCluster extends AsyncDisposable {
  /** The addresses of all three servers, in the form of NATS_URL. */
  readonly url: string;
  readonly nodes: readonly NatsNode[];
  readonly servers: readonly Engine[];
}

export interface NatsClusterOptions extends Pick<
  EnginesOptions,
  'dataFolder' | 'fresh' | 'temporary' | 'onChange' | 'environment'
> {
  /** A file with users and limits, which the file of each server includes. */
  natsConfig?: string;
}

const names = ['n1', 'n2', 'n3'];
const triesMax = 3;

/** Tries three times: a free port that was found for a route may be taken before nats-server listens on it. */
export async function startNatsCluster(options: NatsClusterOptions): Promise<NatsCluster> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startThree(options);
    } catch (error) {
      if (tries === triesMax) throw error;
    }
  }
}

async function startThree({
  dataFolder,
  natsConfig: included,
  ...options
}: NatsClusterOptions): Promise<NatsCluster> {
  await using starting = new AsyncDisposableStack();
  const ports = await Promise.all(names.map(() => findPort()));
  const routes = ports.map((port) => `nats-route://127.0.0.1:${port}`);
  // Each cluster has another name: two clusters of one name would join if a node reused the port of an ended node.
  const cluster = `three-${ports.join('-')}`;
  await mkdir(dataFolder, { recursive: true });
  // nats-server looks for an included file beside the including file.
  if (included !== undefined) await copyFile(included, join(dataFolder, basename(included)));
  const own = included === undefined ? linesOfAll('$NATS_STORE_DIR') : [`include "./${basename(included)}"`];
  const starts = names.map(async (name, index): Promise<NatsNode> => {
    const folder = join(dataFolder, name);
    const natsConfig = join(dataFolder, `${name}.conf`);
    await writeFile(natsConfig, configuration(name, ports[index] ?? 0, { routes, cluster, own }));
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
  /** The name of the cluster, the same in each node's configuration. */
  cluster: string;
  /** Lines in the configuration of every server. */
  own: readonly string[];
}

/** The configuration of docs/operating.md. An ending node waits for its clients to leave for a shorter time than by default. */
const configuration = (name: string, port: number, { routes, cluster, own }: Together): string =>
  `${[
    `server_name: ${name}`,
    `server_tags: ["${name}"]`,
    'lame_duck_duration: "30s"',
    'lame_duck_grace_period: "6s"',
    ...own,
    'cluster {',
    `  name: ${cluster}`,
    `  listen: "127.0.0.1:${port}"`,
    `  routes: [${routes.map((route) => JSON.stringify(route)).join(', ')}]`,
    '}',
  ].join('\n')}\n`;
