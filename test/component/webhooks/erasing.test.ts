// An erased supplier: what receivers answered goes from the stream ATTEMPTS, and the attempts stay.
import { inject, expect, it, beforeAll, afterAll } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openMongodbProxy } from '../../support/mongodb-proxy.ts';
import { answer, openReceiver, type Behaviour, type Receiver } from '../../support/receiver.ts';
import { startWebhookProcess } from '../../support/webhook-process.ts';
import { openHouse, type Client, type House } from '../../support/webhooks.ts';

const person = 'Anna Lind';
const namesPerson: Behaviour = (_hit, response) => void response.writeHead(500).end(`who is ${person}?`);

let house: House;
beforeAll(async () => {
  house = await openHouse();
  await Promise.all([house.start(), house.start()]);
});
afterAll(() => house[Symbol.asyncDispose]());

/** The text of all messages in ATTEMPTS that are about the endpoint. */
async function stored({ bus }: House, id: string): Promise<string> {
  const messages = await Array.fromAsync(
    bus.readStream('ATTEMPTS', { subject: 'attempts.>', from: { sequence: 1 }, exact: true }),
  );
  return messages
    .filter(({ subject }) => subject.includes(id))
    .map(({ body }) => Buffer.from(body).toString())
    .join();
}

const answersOf = async (client: Client, id: string, eventId: string) =>
  (await client.ask('delivery', { id, eventId })).body.attempts.map(({ responseBody }) => responseBody);

/** Registers a webhook whose receiver names the person in its answer to one event; resolves once that is stored. */
async function failed(of: House, receiver: Receiver) {
  const client = of.newClient();
  const { id } = await client.register(receiver.url);
  const [eventId = ''] = await client.announce(1, 'supplier.created', hourAgo());
  await eventually(
    () => stored(of, id),
    (text) => text.includes(person),
  );
  return { client, id, eventId };
}

const hourAgo = (): string => new Date(Date.now() - 3_600_000).toISOString();
const isForgotten = (of: House, id: string) =>
  eventually(
    () => stored(of, id),
    (text) => !text.includes(person),
  );

it('an erasing removes the answers of receivers, and keeps every attempt and the answers of other integrations', async () => {
  await using receiver = await openReceiver(namesPerson);
  const { client, id, eventId } = await failed(house, receiver);
  const bystander = await failed(house, receiver);
  expect((await answersOf(client, id, eventId)).at(-1)).toBe(`who is ${person}?`);
  receiver.behave(answer(204));
  await receiver.received(4);
  const attempts = async () => (await client.ask('deliveries', { id })).body.entities;
  const before = await eventually(attempts, (all) => all.length === 2);

  await client.announce(1, 'supplier.erased');
  await isForgotten(house, id);
  expect(await attempts()).toEqual(before);
  expect(await answersOf(client, id, eventId)).toEqual([null, null]);
  expect(await stored(house, bystander.id)).toContain(person);
  expect((await answersOf(bystander.client, bystander.id, bystander.eventId)).at(-1)).toBe(
    `who is ${person}?`,
  );
});

it('after an erasing, receivers’ answers to earlier events are not stored, and answers to later events are stored', async () => {
  await using receiver = await openReceiver(namesPerson);
  const { client, id, eventId } = await failed(house, receiver);
  await client.announce(1, 'supplier.erased');
  await isForgotten(house, id);
  // Another erasing, from before the event, is announced late: NATS was away.
  await client.announce(1, 'supplier.erased', new Date(Date.now() - 7_200_000).toISOString());
  // The second attempt, and a replay. A webhook that was enabled again has no event that waits.
  await receiver.received(2);
  const again = async () => {
    await client.ask('change', { id, body: { active: false } });
    await client.ask('change', { id, body: { active: true } });
  };
  await again();
  await client.ask('replay', { id, body: { since: new Date(Date.now() - 7_200_000).toISOString() } });
  await receiver.received(3);
  const answers = () => answersOf(client, id, eventId);
  expect(await eventually(answers, (all) => all.length === 3)).toEqual([null, null, null]);

  await again();
  receiver.behave((_hit, response) => void response.writeHead(500).end('later words'));
  await client.announce(1, 'supplier.created', new Date(Date.now() + 120_000).toISOString());
  await eventually(
    () => stored(house, id),
    (text) => text.includes('later words'),
  );
  expect(await stored(house, id)).not.toContain(person);
});

it('an answer that comes after its webhook was deleted is not stored', async () => {
  const asked: Parameters<Behaviour>[] = [];
  await using receiver = await openReceiver((...hit) => void asked.push(hit));
  const client = house.newClient();
  const [{ id }, bystander] = [await client.register(receiver.url), await client.register(receiver.url)];
  await client.announce();
  const testing = client.ask('test', { id });
  await receiver.received(3);
  await client.ask('remove', { id });
  for (const hit of asked) namesPerson(...hit);
  await testing;
  await eventually(
    () => stored(house, bystander.id),
    (text) => text.includes(person),
  );
  expect(await stored(house, id)).not.toContain(person);
});

it('a deletion removes no attempt and no answer of a webhook that it does not name', async () => {
  await using receiver = await openReceiver(namesPerson);
  const { id } = await failed(house, receiver);
  const before = await stored(house, id);
  const other = house.newClient();
  for (const wrong of ['>', '*', id, `${id}-answers`])
    await expect(other.ask('remove', { id: wrong })).rejects.toMatchObject({ code: 'not_found' });
  expect(await stored(house, id)).toContain(before);
});

// Timeline: an owner looks up the endpoints whose answers it has to purge, and is killed before the database answers.
it(
  'the answers of receivers are removed although the replica that began the removal is killed',
  { timeout: 120_000 },
  async () => {
    await using own = await openHouse();
    await using proxy = await openMongodbProxy(inject('engines').mongodb);
    await using killed = await startWebhookProcess({ ...own.environment, MONGODB_URL: proxy.url });
    await using receiver = await openReceiver(namesPerson);
    const { client, id } = await failed(own, receiver);
    receiver.behave(answer(204));
    await receiver.received(2);
    const held = proxy.holdNext('find', 'webhook_endpoints', [client.integration]);
    await client.announce(1, 'supplier.erased');
    await held;
    await killed.kill();
    expect(await stored(own, id)).toContain(person);
    await own.start();
    await isForgotten(own, id);
  },
);

// Timeline: a caller deletes a webhook. The replica that carries out the deletion is killed right after it.
it(
  'an erasing and a second deletion remove what the deletion of a webhook by a killed replica has left',
  { timeout: 120_000 },
  async () => {
    await using own = await openHouse();
    await using proxy = await openMongodbProxy(inject('engines').mongodb);
    await using killed = await startWebhookProcess({ ...own.environment, MONGODB_URL: proxy.url });
    await using receiver = await openReceiver(namesPerson);
    const { client, id } = await failed(own, receiver);
    const held = proxy.holdNext('update', 'webhook_revisions', [client.integration]);
    client.ask('remove', { id }).catch(() => undefined);
    await held;
    await killed.kill();
    await own.start();
    await expect(client.ask('get', { id })).rejects.toMatchObject({ code: 'not_found' });
    await client.announce(1, 'supplier.erased');
    await isForgotten(own, id);
    expect(await stored(own, id)).toContain('attempt');
    await expect(client.ask('remove', { id })).rejects.toMatchObject({ code: 'not_found' });
    expect(await stored(own, id)).toBe('');
  },
);
