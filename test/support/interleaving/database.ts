// A database for worlds, by the driver alone. The store of the services asks MongoDB twice a second whether it answers, and gives up after
// 2 s: in a world that would make what happens depend on how busy the machine is.
import { randomUUID } from 'node:crypto';
import { openLog } from '@integration-sync/runtime/log';
import { openStore, type Store } from '@integration-sync/runtime/store';
import { MongoClient } from 'mongodb';

export interface Database extends AsyncDisposable {
  /** What a gated store needs of a store. */
  readonly store: Store;
}

const hour = 3_600_000;

/** `prepare` makes the indexes. */
export async function openDatabase(
  url: string,
  prepare: (store: Store) => Promise<unknown>,
): Promise<Database> {
  const name = `interleavings_${randomUUID().replaceAll('-', '')}`;
  {
    await using services = await openStore({
      url,
      database: name,
      log: openLog({ service: 'test', level: 'silent' }),
    });
    await prepare(services);
  }
  const client = new MongoClient(url, {
    maxPoolSize: 8,
    serverMonitoringMode: 'poll',
    heartbeatFrequencyMS: hour,
  });
  await client.connect();
  const database = client.db(name);
  const store = { database, collection: (collection: string) => database.collection(collection) };
  return {
    store: store as unknown as Store,
    async [Symbol.asyncDispose]() {
      await database.dropDatabase();
      await client.close();
    },
  };
}
