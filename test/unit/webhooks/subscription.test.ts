import { expect, it } from 'vitest';
import type { Subscriber } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import type { EventFacts } from '../../../services/webhooks/src/log/logged-batch.ts';
import { isDelivered, isMissed } from '../../../services/webhooks/src/matching/match.ts';

const at = (second: number): string => new Date(1_000 * second).toISOString();

const subscriber = (more: Partial<Subscriber> = {}): Subscriber => ({
  _id: 'wh_1',
  url: 'https://acme.example/hook',
  events: ['supplier.created', 'webhook.disabled'],
  active: true,
  createdAt: new Date(at(100)),
  disablings: [],
  epoch: 0,
  eventsAfter: 10,
  earlierEvents: [],
  version: 1,
  open: true,
  failures: 0,
  ...more,
});

const event = (more: Partial<EventFacts> = {}): EventFacts => ({
  event: 'supplier.created',
  timestamp: at(200),
  sequence: 11,
  origin: 'sync_1',
  aboutEndpoint: undefined,
  ...more,
});

const enabledAgain = { epoch: 1, disablings: [{ epoch: 0, at: new Date(at(300)) }], eventsAfter: 50 };

const changedKinds = {
  events: ['sync.completed' as const],
  earlierEvents: [
    { through: 20, events: ['batch.created' as const] },
    { through: 30, events: ['supplier.created' as const] },
  ],
};

it.each([
  ['an endpoint that subscribes to its kind', subscriber(), event(), true],
  ['no endpoint without its kind', subscriber({ events: ['sync.completed'] }), event(), false],
  ['an endpoint with its kind at that time', subscriber(changedKinds), event({ sequence: 30 }), true],
  ['no endpoint with its kind only later', subscriber(changedKinds), event({ sequence: 20 }), false],
  ['no endpoint with its kind only before', subscriber(changedKinds), event({ sequence: 31 }), false],
  [
    'an endpoint that subscribed to its kind when its push began, though the event came after the change',
    subscriber({
      events: ['sync.completed'],
      earlierEvents: [{ through: 5, underWay: ['sync_0', 'sync_1'], events: ['supplier.created'] }],
    }),
    event(),
    true,
  ],
  [
    'no endpoint that was registered during its push, though the event came afterwards',
    subscriber({ eventsUnderWay: ['sync_1'] }),
    event(),
    false,
  ],
  ['an endpoint registered during another push', subscriber({ eventsUnderWay: ['sync_2'] }), event(), true],
  ['no endpoint registered after the event', subscriber(), event({ sequence: 10, timestamp: at(99) }), false],
  [
    'an endpoint that was enabled before the event',
    subscriber(enabledAgain),
    event({ sequence: 51, timestamp: at(400) }),
    true,
  ],
  [
    'no endpoint that was disabled at the event, and enabled afterwards',
    subscriber(enabledAgain),
    event({ sequence: 50, timestamp: at(350) }),
    false,
  ],
  [
    'no endpoint that was disabled during its push, though the event came after the enabling',
    subscriber({ ...enabledAgain, eventsUnderWay: ['sync_1'] }),
    event({ sequence: 51, timestamp: at(350) }),
    false,
  ],
  [
    'other endpoints where the event is webhook.disabled of one endpoint',
    subscriber(),
    event({ event: 'webhook.disabled', aboutEndpoint: 'wh_2' }),
    true,
  ],
  [
    'no endpoint whose own webhook.disabled the event is',
    subscriber(),
    event({ event: 'webhook.disabled', aboutEndpoint: 'wh_1' }),
    false,
  ],
] as const)('an event is delivered to %s', (_name, endpoint, occurred, delivered) => {
  expect(isDelivered(endpoint, occurred)).toBe(delivered);
});

it.each([
  ['an event from before the disabling', subscriber(enabledAgain), event({ timestamp: at(300) }), true],
  ['no event from after the disabling', subscriber(enabledAgain), event({ timestamp: at(301) }), false],
  [
    'an event that a replica whose clock is half a second behind dates before the registration',
    subscriber(enabledAgain),
    event({ timestamp: at(99.5) }),
    true,
  ],
  ['no event from before the registration', subscriber(enabledAgain), event({ timestamp: at(99) }), false],
  ['no event of other kinds', subscriber({ ...enabledAgain, events: ['dds.created'] }), event(), false],
] as const)('a disabling makes an endpoint miss %s', (_name, endpoint, occurred, missed) => {
  expect(isMissed(endpoint, occurred, new Date(at(300)))).toBe(missed);
});
