// A NATS of one test file's own: for a test that counts streams, serves a subject that others serve too, or
// takes NATS away. Starts in a tenth of a second.
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startEngine, type Engine } from '@integration-sync/dev/engines';
import { makeFolder } from './folder.ts';

export async function startNats(): Promise<Engine> {
  return startEngine('nats', { dataFolder: await makeFolder(), temporary: true });
}

export interface CopiedNats extends Engine {
  /** The folder of JetStream. */
  readonly store: string;
  /** Copies its store while it does not run. */
  copy(): Promise<void>;
  /** Puts the copy in place of its store. It runs again once the promise is resolved. */
  putBack(): Promise<void>;
}

/** A nats-server whose store is a folder of this machine, and not a volume of a container. */
export async function startCopiedNats(): Promise<CopiedNats> {
  const dataFolder = await makeFolder();
  const nats = await startEngine('nats', { dataFolder, temporary: true, force: 'download' });
  const store = join(dataFolder, 'nats-download', 'jetstream');
  const copied = join(dataFolder, 'copy');
  const whileStopped = async (work: () => Promise<void>): Promise<void> => {
    nats.hold();
    await nats.kill();
    try {
      await work();
    } finally {
      await nats.resume();
    }
  };
  return {
    ...nats,
    store,
    copy: () =>
      whileStopped(async () => {
        await rm(copied, { recursive: true, force: true });
        await cp(store, copied, { recursive: true, preserveTimestamps: true });
      }),
    putBack: () =>
      whileStopped(async () => {
        await rm(store, { recursive: true });
        await cp(copied, store, { recursive: true, preserveTimestamps: true });
      }),
    [Symbol.asyncDispose]: () => nats[Symbol.asyncDispose](),
  };
}

export interface NatsAs extends Engine {
  /** Has the running server take these lines in place of its configuration. */
  reconfigure(lines: readonly string[]): Promise<void>;
}

/** Starts a nats-server with these lines as its configuration, which must not set addresses. */
export async function startNatsAs(lines: readonly string[]): Promise<NatsAs> {
  const dataFolder = await makeFolder();
  const natsConfig = join(dataFolder, 'own.conf');
  const write = (own: readonly string[]): Promise<void> => writeFile(natsConfig, `${own.join('\n')}\n`);
  await write(lines);
  const nats = await startEngine('nats', { dataFolder, temporary: true, natsConfig });
  return {
    ...nats,
    async reconfigure(next) {
      await write(next);
      for (const pid of nats.pids()) process.kill(pid, 'SIGHUP');
    },
  };
}
