// A proxy before MongoDB that can hold one message back: it arrives late, or after its sender has gone.
import { openEngineProxy, type EngineProxy } from './servers.ts';

export interface MongodbProxy extends EngineProxy {
  /** Holds the next such command, and all that follows on its connection; resolves once the command has come. */
  holdNext(command: string, collection: string, mentions?: readonly string[]): Promise<void>;
  /** Lets every held message go on. */
  release(): void;
}

export async function openMongodbProxy(mongodb: string): Promise<MongodbProxy> {
  const releases: (() => void)[] = [];
  let wanted: { matches: (bytes: Buffer) => boolean; come: () => void } | undefined;

  const proxy = await openEngineProxy(mongodb, (client, database) => {
    let held: Buffer[] | undefined;
    const release = (): void => {
      for (const bytes of held ?? []) database.write(bytes);
      held = undefined;
    };
    client.on('data', (bytes: Buffer) => {
      if (wanted?.matches(bytes) === true) {
        held ??= [];
        releases.push(release);
        wanted.come();
        wanted = undefined;
      }
      if (held === undefined) database.write(bytes);
      else held.push(bytes);
    });
    client.on('close', () => {
      if (held === undefined) database.end();
    });
    database.pipe(client);
  });
  return {
    ...proxy,
    holdNext(command, collection, mentions = []) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const first = firstOf(command, collection);
      const matches = (bytes: Buffer): boolean =>
        bytes.includes(first) && mentions.every((text) => bytes.includes(text));
      wanted = { matches, come: resolve };
      return promise;
    },
    release() {
      for (const release of releases.splice(0)) release();
    },
  };
}

/** The first field of a command on the wire: its name, and the collection as its value. */
function firstOf(command: string, collection: string): Buffer {
  const lengthBytes = Buffer.alloc(4);
  lengthBytes.writeInt32LE(Buffer.byteLength(collection) + 1);
  return Buffer.concat([Buffer.from(`${command}\0`), lengthBytes, Buffer.from(`${collection}\0`)]);
}
