// MongoDB is restored from an older copy while webhooks runs: the owner of an endpoint has changes in memory that MongoDB lacks.
import type { Document } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openReceiver, type Hit } from '../../support/receiver.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

let house: House;
beforeAll(async () => {
  house = await openHouse();
});
afterAll(() => house[Symbol.asyncDispose]());

type Stored = Document & { _id: never };

const collections = async (): Promise<string[]> =>
  (await house.store.database.listCollections().toArray()).map(({ name }) => name);

async function copy(): Promise<Map<string, Stored[]>> {
  const copied = new Map<string, Stored[]>();
  for (const name of await collections())
    copied.set(name, await house.store.collection<Stored>(name).find().toArray());
  return copied;
}

async function putBack(copied: ReadonlyMap<string, readonly Stored[]>): Promise<void> {
  for (const name of await collections()) {
    const stored = house.store.collection<Stored>(name);
    const documents = copied.get(name) ?? [];
    await stored.deleteMany({ _id: { $nin: documents.map(({ _id }) => _id) } });
    for (const one of documents) await stored.replaceOne({ _id: one._id }, one, { upsert: true });
  }
}

const floorsAt = async (): Promise<number> =>
  (await house.store.collection<{ _id: string; at: Date }>('webhook_replicas').findOne({}))?.at.getTime() ??
  0;

/** The replica has stored the floors of all deliveries that have ended. */
async function untilFloorsAreStored(after: number): Promise<void> {
  await eventually(floorsAt, (at) => at > after);
}

it('events reach an endpoint that was disabled after the copy was made', { timeout: 60_000 }, async () => {
  await using _replica = await house.start();
  await using receiver = await openReceiver();
  const client = house.newClient();
  const { id } = await client.register(receiver.url);
  await client.announce();
  await receiver.received(1);
  await untilFloorsAreStored(0);
  const copied = await copy();
  const copiedAt = await floorsAt();
  await client.ask('change', { id, body: { active: false } });
  await client.announce();
  await untilFloorsAreStored(copiedAt);

  await putBack(copied);

  expect((await client.ask('get', { id })).body.active).toBe(true);
  const [event] = await client.announce();
  const where = ({ headers }: Hit): boolean => headers['webhook-id'] === event;
  await receiver.received(1, { withinMs: 20_000, where });
  expect(house.lines.join('')).toContain('MongoDB was restored from an older copy');
});
