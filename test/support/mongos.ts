// A stand-in for a mongos: a proxy before a database that marks the database's answers to `hello` as those of a mongos.
import { eachMessage, withHello } from './mongodb-messages.ts';
import { openEngineProxy, type EngineProxy } from './servers.ts';

export async function openMongos(mongodb: string): Promise<EngineProxy> {
  const proxy = await openEngineProxy(mongodb, (client, database) => {
    client.pipe(database);
    client.on('close', () => database.destroy());
    // By this, drivers recognise a mongos.
    eachMessage(database, (message) =>
      client.write(withHello(message, (answer) => ({ ...answer, msg: 'isdbgrid' }))),
    );
  });
  const url = new URL(proxy.url);
  // The driver refuses a mongos if the address names a replica set.
  url.searchParams.delete('replicaSet');
  // The driver assumes that every mongos has retryable writes, but FerretDB has none.
  url.searchParams.set('retryWrites', 'false');
  return { ...proxy, url: url.href };
}
