// What the owner of a partition stores of an endpoint, and on which conditions.
import { endpointChangedSubject } from '@integration-sync/contracts';
import type { SentCommand } from '@integration-sync/runtime/store';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { openEndpoints, type Endpoints } from '../../../services/webhooks/src/endpoints/endpoint-store.ts';
import { eventually } from '../../support/eventually.ts';
import { answer, openReceiver } from '../../support/receiver.ts';
import { openEndpoint } from '../../support/webhook-parts.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

let house: House;
let endpoints: Endpoints;
beforeAll(async () => {
  house = await openHouse();
  endpoints = await openEndpoints(house.store);
});
afterAll(() => house[Symbol.asyncDispose]());

/** Before the attempt log stores answers, it looks for the endpoints of all of them in one find by `$in`. */
const isOfAnswers = ({ name, command }: SentCommand): boolean =>
  name === 'find' && JSON.stringify(command['filter']).startsWith('{"_id":{"$in":[');

it('an owner stores a failure that counts by one update in MongoDB, without a find and without a broadcast', async () => {
  const sent: SentCommand[] = [];
  await using _replica = await house.start({ onCommand: (command) => void sent.push(command) });
  const heard: string[] = [];
  using _listening = house.bus.listen(
    endpointChangedSubject,
    ({ body }) => void heard.push(Buffer.from(body).toString()),
    () => undefined,
  );
  await using receiver = await openReceiver();
  const client = house.newClient();
  const { id } = await client.register(receiver.url);
  await client.announce();
  await eventually(
    () => endpoints.find(id),
    (stored) => stored?.open === true,
  );
  const change = (description: string) => client.ask('change', { id, body: { description } });
  await change('first');
  await eventually(
    () => heard,
    (ids) => ids.includes(id),
  );
  // The change has another revision, so that the next event has the owner read the endpoint.
  await client.announce();
  await receiver.received(2);
  heard.length = 0;
  sent.length = 0;

  receiver.behave(answer(500));
  await client.announce();
  await eventually(
    () => endpoints.find(id),
    (stored) => stored?.failures === 2,
  );

  const ofEndpoint = sent.filter(({ command }) => {
    const text = JSON.stringify(command);
    return text.includes('"webhook_endpoints"') && (text.includes(id) || text.includes(client.integration));
  });
  expect(ofEndpoint.filter((one) => !isOfAnswers(one)).map(({ name }) => name)).toEqual(['update', 'update']);
  await change('second');
  await eventually(
    () => heard,
    (ids) => ids.length > 0,
  );
  expect(heard).toEqual([id]);
});

const term = 5;
const trials = [{ stream: 'one', sequence: 1, index: 0, attempts: 1, dueAtMs: 0 }];
const missed = { stream: 'one', sequence: 1, index: 0, open: [], term };
const isTaken = [
  ['as its owner has applied it', {}, true],
  ['after another write of the same owner', { term }, true],
  ['after a write of an earlier owner', { term: term - 1 }, true],
  ['after a write of a later owner', { term: term + 1 }, false],
  ['in a newer version', { version: 2 }, false],
  ['in a later epoch', { epoch: 1 }, false],
  ['disabled', { active: false }, false],
  ['deleted', undefined, false],
] as const;

/** An endpoint that is stored with the change; undefined if it is deleted. */
async function insertWith(change: Partial<Endpoint> | undefined) {
  const endpoint = openEndpoint(`wh_${crypto.randomUUID()}`);
  if (change !== undefined) await endpoints.insert({ ...endpoint, ...change });
  const { _id, version, epoch } = endpoint;
  return { id: _id, applied: { _id, version, epoch, term }, before: await endpoints.find(_id) };
}

describe('the owner of an endpoint', () => {
  it.each(isTaken)(
    'may store failures, circuit and trials, and nothing else, where the endpoint is %s (%o): %s',
    async (_, change, taken) => {
      const { id, applied, before } = await insertWith(change);
      const count = { failures: 3, isCircuitClosed: false, trials };
      const stored = { failures: 3, open: false, trials, term };
      expect(await endpoints.recordState(applied, count)).toBe(taken);
      const after = await endpoints.find(id);
      expect(after).toEqual(taken ? { ...before, ...stored } : before);
      // An update whose answer was lost is repeated.
      expect(await endpoints.recordState(applied, count)).toBe(taken);
      expect(await endpoints.find(id)).toEqual(after);
    },
  );

  it.each(isTaken)('may disable it once where it is %s (%o): %s', async (_, change, taken) => {
    const { id, applied, before } = await insertWith(change);
    const how = { reason: 'failures', failures: 10, at: new Date(), missed } as const;
    expect(await endpoints.disable(applied, how)).toBe(taken);
    const after = await endpoints.find(id);
    const state = { failures: 10, open: false, trials: [], missed: { 0: missed }, term };
    const expected = taken ? { ...state, active: false, version: 2, epoch: 1 } : (before ?? {});
    expect(after ?? {}).toMatchObject(expected);
    expect(await endpoints.disable(applied, how)).toBe(false);
    expect(await endpoints.find(id)).toEqual(after);
  });
});

it.each([
  ['with a new version', { version: 2 }, false],
  ['with a new epoch', { epoch: 1 }, false],
  ['with a new failure', { failures: 1, open: false, trials, term }, true],
] as const)('a caller may change an endpoint %s (%o): %s', async (_, change, taken) => {
  const { id, before } = await insertWith({});
  if (before === null) throw new Error('the endpoint is not stored');
  await house.store.collection<Endpoint>('webhook_endpoints').updateOne({ _id: id }, { $set: change });
  const after = await endpoints.change(before, { $set: { url: 'https://other.example/' } });
  expect(after).toEqual(taken ? { ...before, ...change, url: 'https://other.example/' } : null);
});

it('an owner or a later owner, but no earlier owner, may replace the stored start of missed events', async () => {
  const { id } = await insertWith({});
  const store = async (of: number, sequence: number) => {
    await endpoints.recordMissed(id, 0, { ...missed, term: of, sequence });
    return (await endpoints.find(id))?.missed?.[0];
  };
  expect(await store(term, 1)).toMatchObject({ term, sequence: 1 });
  expect(await store(term - 1, 2)).toMatchObject({ term, sequence: 1 });
  expect(await store(term, 3)).toMatchObject({ term, sequence: 3 });
  expect(await store(term + 1, 4)).toMatchObject({ term: term + 1, sequence: 4 });
});
