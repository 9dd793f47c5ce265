import { expect, it } from 'vitest';
import { matchEvents } from '../../../services/webhooks/src/fanout/match.ts';
import type { StreamEvent } from '../../../services/webhooks/src/fanout/event.ts';
import type { VersionedSubscriber } from '../../../services/webhooks/src/endpoints/endpoint.ts';

const at = (second: number): string => new Date(1_000 * second).toISOString();

const subscriber = (_id: string, more: Partial<VersionedSubscriber> = {}): VersionedSubscriber => ({
  _id,
  events: ['supplier.created'],
  earlierEvents: [],
  active: true,
  createdAt: new Date(at(0)),
  disablings: [],
  epoch: 0,
  eventsAfter: 0,
  version: 1,
  ...more,
});

const event = (sequence: number, kind = 'supplier.created', aboutEndpoint?: string): StreamEvent => ({
  eventId: `e${sequence}`,
  event: kind,
  timestamp: at(sequence),
  sequence,
  origin: `o${sequence}`,
  aboutEndpoint,
  body: Buffer.from('{}'),
});

const matched = (subscribers: VersionedSubscriber[], events: StreamEvent[]) =>
  matchEvents(subscribers, events).map(({ to, events: some }) => [
    to.map(({ endpointId, epoch }) => `${endpointId}/${epoch}`).join(),
    some.map(({ eventId }) => eventId).join(),
  ]);

it('puts endpoints of the same kinds into one group', () => {
  const subscribers = [
    subscriber('a'),
    subscriber('b', { events: ['batch.created'] }),
    subscriber('c', { epoch: 4 }),
    subscriber('d', { events: ['batch.created', 'supplier.created'] }),
  ];
  expect(matched(subscribers, [event(1), event(2, 'batch.created'), event(3)])).toEqual([
    ['a/0,c/4', 'e1,e3'],
    ['b/0', 'e2'],
    ['d/0', 'e1,e2,e3'],
  ]);
});

it('looks at each event where an endpoint was registered, enabled, changed or disabled meanwhile', () => {
  const events = [event(1), event(2), event(3)];
  expect(matched([subscriber('a'), subscriber('b', { eventsAfter: 2 })], events)).toEqual([
    ['a/0', 'e1,e2,e3'],
    ['b/0', 'e3'],
  ]);
  const changed = subscriber('c', { earlierEvents: [{ through: 1, events: ['batch.created'] }] });
  expect(matched([changed], events)).toEqual([['c/0', 'e2,e3']]);
  const underWay = ['o2'];
  const underWayThen = subscriber('c', {
    earlierEvents: [{ through: 0, underWay, events: ['batch.created'] }],
  });
  expect(matched([subscriber('a'), underWayThen], events)).toEqual([
    ['a/0', 'e1,e2,e3'],
    ['c/0', 'e1,e3'],
  ]);
  expect(matched([subscriber('b', { eventsUnderWay: underWay })], events)).toEqual([['b/0', 'e1,e3']]);
  const disabled = subscriber('d', {
    active: false,
    epoch: 1,
    disablings: [{ epoch: 0, at: new Date(at(2)) }],
  });
  expect(matched([disabled], events)).toEqual([['d/0', 'e1,e2']]);
});

it('does not tell an endpoint that it was disabled itself', () => {
  const events: VersionedSubscriber['events'] = ['webhook.disabled'];
  expect(
    matched([subscriber('a', { events }), subscriber('b', { events })], [event(1, 'webhook.disabled', 'a')]),
  ).toEqual([['b/0', 'e1']]);
});
