// A cluster of three nats-servers of one test file's own, for what only a cluster shows: copies, leaders, absent servers.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNatsCluster as startThree, type NatsCluster } from '@integration-sync/dev/nats-cluster';
import { folderPrefix } from './folder.ts';

export type { NatsCluster } from '@integration-sync/dev/nats-cluster';

export async function startNatsCluster(): Promise<NatsCluster> {
  const dataFolder = await mkdtemp(join(tmpdir(), folderPrefix));
  const cluster = await startThree({ dataFolder, temporary: true });
  return {
    ...cluster,
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      await rm(dataFolder, { recursive: true, force: true });
    },
  };
}
