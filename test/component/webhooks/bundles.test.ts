// Events with and without bundles: a release that made none leaves a consumer of EVENTS behind, and its
// catalog may still run beside this webhooks.
import {
  bundle,
  bundlesStream,
  bundlesStreamSpec,
  eventSubject,
  eventsStream,
  eventsStreamSpec,
  storeEvents,
} from '@integration-sync/contracts';
import { openLog } from '@integration-sync/runtime/log';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readUnbundled, unbundledConsumer } from '../../../services/webhooks/src/fanout/unbundled.ts';
import { eventually } from '../../support/eventually.ts';
import { idsOf, openReceiver } from '../../support/receiver.ts';
import { openHouse, type House } from '../../support/webhooks.ts';

let house: House;
beforeEach(async () => {
  house = await openHouse();
});
afterEach(() => house[Symbol.asyncDispose]());

/** Events as the release before announced them. */
async function announceWithoutBundle(integration: string, ids: readonly string[]): Promise<void> {
  const events = ids.map((id) => ({
    subject: eventSubject(integration, 'supplier.created'),
    id,
    body: JSON.stringify({
      event: 'supplier.created',
      timestamp: new Date().toISOString(),
      integrationId: integration,
      data: { externalId: id, internalId: `sup_${id}` },
    }),
  }));
  await house.bus.publishBatch(events);
}

const ofTheReleaseBefore = {
  name: unbundledConsumer,
  description: 'Turns events into deliveries',
  ackWaitMs: 4_000,
  ackPendingMax: 4_000,
  deliver: 'all' as const,
};

it('delivers what came with and without a bundle, once each, after the release before', async () => {
  await house.bus.ensureStream(eventsStreamSpec({}));
  await house.bus.ensureConsumer(eventsStream, ofTheReleaseBefore);
  await house.start();
  await house.start();
  await using receiver = await openReceiver();
  const acme = house.newClient();
  await acme.register(`${receiver.url}/hook`);
  await announceWithoutBundle(acme.integration, ['old-1', 'old-2']);
  const bundled = await acme.announce(20);
  await announceWithoutBundle(acme.integration, ['old-3']);
  const last = await acme.announce(1);
  const wanted = ['old-1', 'old-2', 'old-3', ...bundled, ...last];
  await receiver.received(wanted.length);
  // The consumer has nothing left that could come a second time.
  await eventually(
    () => house.bus.consumerFacts(eventsStream, unbundledConsumer),
    ({ pending }) => pending === 0,
  );
  // A double might still be in a lane.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const came = receiver.hits.map(({ headers }) => headers['webhook-id'] ?? '');
  expect(came.toSorted()).toEqual(wanted.toSorted());
});

it('reads events without a bundle for as long as the consumer is there, and none with one', async () => {
  await house.bus.ensureStream(eventsStreamSpec({}));
  await house.bus.ensureStream(bundlesStreamSpec({}));
  await house.bus.ensureConsumer(eventsStream, ofTheReleaseBefore);
  const taken: string[] = [];
  const lines: string[] = [];
  const log = openLog({
    service: 'webhooks',
    level: 'info',
    pretty: false,
    destination: { write: (line: string) => void lines.push(line) },
  });
  const take = (message: { id: string; ack(): void }): void => {
    taken.push(message.id);
    message.ack();
  };
  await using _reading = readUnbundled({ bus: house.bus, take, log });
  const acme = house.newClient();
  await acme.announce(3);
  await announceWithoutBundle(acme.integration, ['alone']);
  await acme.announce(20);
  await eventually(
    () => house.bus.consumerFacts(eventsStream, unbundledConsumer),
    ({ pending }) => pending === 0,
  );
  await eventually(
    () => taken,
    (ids) => ids.length > 0,
  );
  const nats = await connect({ servers: house.nats.url });
  await (await jetstreamManager(nats)).consumers.delete(eventsStream, unbundledConsumer);
  await nats.close();
  await eventually(
    () => lines.join(''),
    (text) => text.includes('no longer read'),
  );
  expect(taken).toEqual(['alone']);
});

// Setup: BUNDLES as it was before bundles named their announcer, undivided and in four partitions, with bundles in it.
// What this proves: a replica brings the stream to what it is now, and each event of those bundles is delivered.
it.each([1, 4])('delivers bundles that name no announcer, of %i partitions', async (number) => {
  const environment = { DELIVERY_PARTITIONS: String(number) };
  const first = await house.start({}, environment);
  await using receiver = await openReceiver();
  const acme = house.newClient();
  await acme.register(`${receiver.url}/hook`);
  await first[Symbol.asyncDispose]();
  const nats = await connect({ servers: house.nats.url });
  const manager = await jetstreamManager(nats);
  const dest = `bundles.${number}.{{partition(${number},1)}}.{{wildcard(1)}}`;
  await manager.streams.update(bundlesStream, {
    subjects: ['bundles.*'],
    ...(number === 1 ? {} : { subject_transform: { src: 'bundles.*', dest } }),
  });
  await nats.close();

  const { integration } = acme;
  const events = ['one', 'two'].map((id) => ({
    subject: eventSubject(integration, 'supplier.created'),
    id,
    body: JSON.stringify({ event: 'supplier.created', timestamp: new Date().toISOString(), data: {} }),
  }));
  const places = await storeEvents(house.bus, events, undefined);
  const bundles = bundle({ announcer: 'catalog', integration, events, places });
  await house.bus.publishBatch(
    bundles.map(({ id, body }) => ({ id, body, subject: `bundles.${integration}` })),
  );

  await house.start({}, environment);
  const [later] = await acme.announce();
  await receiver.received(3);
  expect(idsOf(receiver.hits)).toEqual(new Set(['one', 'two', later]));
});
