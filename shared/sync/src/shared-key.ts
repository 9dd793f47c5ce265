// A secret that all replicas of a service share without a setting: the first replica creates the secret in MongoDB, others read it.
import { randomBytes } from 'node:crypto';
import { isFirst, type Store } from '@integration-sync/runtime/store';

interface StoredKey {
  _id: string;
  key: Uint8Array;
}

const keyBytes = 32;

export async function sharedKey(store: Store, collection: string, name: string): Promise<Uint8Array> {
  const keys = store.collection<StoredKey>(collection);
  const find = () => keys.findOne({ _id: name }, { promoteBuffers: true });
  const found = await find();
  if (found !== null) return found.key;
  await isFirst(keys.insertOne({ _id: name, key: randomBytes(keyBytes) }));
  const made = await find();
  if (made === null) throw new Error(`the shared secret ${name} is not in MongoDB after its insert`);
  return made.key;
}
