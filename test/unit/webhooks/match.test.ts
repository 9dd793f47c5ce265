import { expect, it, vi } from 'vitest';
import type { Subscriber } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import type { LoggedBatch, StreamEvent } from '../../../services/webhooks/src/log/logged-batch.ts';
import { openMatch } from '../../../services/webhooks/src/matching/match.ts';
import { batchOf as loggedBatchOf } from '../../support/webhook-parts.ts';

const at = (second: number): string => new Date(1_000 * second).toISOString();

const subscriber = (_id: string, more: Partial<Subscriber> = {}): Subscriber => ({
  _id,
  url: 'https://acme.example/hook',
  events: ['supplier.created'],
  earlierEvents: [],
  active: true,
  createdAt: new Date(at(0)),
  disablings: [],
  epoch: 0,
  eventsAfter: 0,
  version: 1,
  open: true,
  failures: 0,
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

const batchOf = (events: StreamEvent[], endpointId?: string): LoggedBatch =>
  loggedBatchOf(1, events.length, { endpointId, events: () => events });

const matched = (subscribers: Subscriber[], events: StreamEvent[], endpointId?: string) => {
  const match = openMatch();
  const batch = batchOf(events, endpointId);
  return subscribers.map((one) =>
    match(batch, one)
      .map((index) => events[index]?.eventId)
      .join(),
  );
};

it('matching finds the events of the subscribed kinds of each endpoint', () => {
  const subscribers = [
    subscriber('a'),
    subscriber('b', { events: ['batch.created'] }),
    subscriber('c', { events: ['batch.created', 'supplier.created'] }),
    subscriber('d', { active: false }),
  ];
  const events = [event(1), event(2, 'batch.created'), event(3)];
  expect(matched(subscribers, events)).toEqual(['e1,e3', 'e2', 'e1,e2,e3', '']);
});

it('matching runs once for endpoints with the same kinds', () => {
  const match = openMatch();
  const kinds = vi.fn<() => string>(() => 'supplier.created');
  const one = { ...event(1), get event() { return kinds(); } }; // oxfmt-ignore
  const batch = batchOf([one]);
  for (let n = 0; n < 1_000; n += 1) match(batch, subscriber(`wh_${n}`));
  expect(kinds.mock.calls.length).toBeLessThan(5);
});

it('matching compares each event with the cutoff where an endpoint was registered, enabled or changed meanwhile', () => {
  const events = [event(1), event(2), event(3)];
  const underWay = ['o2'];
  const subscribers = [
    subscriber('a', { eventsAfter: 2 }),
    subscriber('b', { earlierEvents: [{ through: 1, events: ['batch.created'] }] }),
    subscriber('c', { earlierEvents: [{ through: 0, underWay, events: ['batch.created'] }] }),
    subscriber('d', { eventsUnderWay: underWay }),
  ];
  expect(matched(subscribers, events)).toEqual(['e3', 'e2,e3', 'e1,e3', 'e1,e3']);
});

it('webhook.disabled does not match the disabled endpoint', () => {
  const events: Subscriber['events'] = ['webhook.disabled'];
  const subscribers = [subscriber('a', { events }), subscriber('b', { events })];
  expect(matched(subscribers, [event(1, 'webhook.disabled', 'a')])).toEqual(['', 'e1']);
});

it('an addressed batch matches its endpoint alone, with any subscription', () => {
  const subscribers = [subscriber('a', { eventsAfter: 9 }), subscriber('b')];
  expect(matched(subscribers, [event(1), event(2)], 'a')).toEqual(['e1,e2', '']);
});
