// A cluster of three nats-servers of one test file's own, for what only a cluster shows: copies, leaders, absent servers.
import {
  startNatsCluster as startThree,
  type NatsCluster,
  type NatsClusterOptions,
} from '@integration-sync/dev/nats-cluster';
import { temporaryFolder } from './folder.ts';

export type { NatsCluster } from '@integration-sync/dev/nats-cluster';

export interface TestNatsCluster extends NatsCluster {
  /** Where the configuration of each server is, and the file that it includes. */
  readonly folder: string;
}

export async function startNatsCluster(
  options: Pick<NatsClusterOptions, 'natsConfig' | 'environment'> = {},
): Promise<TestNatsCluster> {
  await using starting = new AsyncDisposableStack();
  const { path: dataFolder } = starting.use(await temporaryFolder());
  const cluster = starting.use(await startThree({ dataFolder, temporary: true, ...options }));
  const started = starting.move();
  return { ...cluster, folder: dataFolder, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
