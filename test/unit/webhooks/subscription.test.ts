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
  ['an endpoint that subscribes to it', subscriber(), event(), true],
  ['none that does not subscribe to its kind', subscriber({ events: ['sync.completed'] }), event(), false],
  ['the kinds of its time', subscriber(changedKinds), event({ sequence: 30 }), true],
  ['no kinds of an earlier time', subscriber(changedKinds), event({ sequence: 20 }), false],
  ['no kinds of a later time', subscriber(changedKinds), event({ sequence: 31 }), false],
  [
    'the kinds of its time, though it comes after the change',
    subscriber({
      events: ['sync.completed'],
      earlierEvents: [{ through: 5, underWay: ['sync_0', 'sync_1'], events: ['supplier.created'] }],
    }),
    event(),
    true,
  ],
  [
    'none registered after it, though it comes afterwards',
    subscriber({ eventsUnderWay: ['sync_1'] }),
    event(),
    false,
  ],
  ['those registered while another was under way', subscriber({ eventsUnderWay: ['sync_2'] }), event(), true],
  ['none registered after it', subscriber(), event({ sequence: 10, timestamp: at(99) }), false],
  [
    'one that was enabled before it',
    subscriber(enabledAgain),
    event({ sequence: 51, timestamp: at(400) }),
    true,
  ],
  [
    'none that was disabled then, though enabled again',
    subscriber(enabledAgain),
    event({ sequence: 50, timestamp: at(350) }),
    false,
  ],
  [
    'none that was disabled then, though it comes when enabled again',
    subscriber({ ...enabledAgain, eventsUnderWay: ['sync_1'] }),
    event({ sequence: 51, timestamp: at(350) }),
    false,
  ],
  [
    'others, where it says that an endpoint was disabled',
    subscriber(),
    event({ event: 'webhook.disabled', aboutEndpoint: 'wh_2' }),
    true,
  ],
  [
    'not the disabled one itself',
    subscriber(),
    event({ event: 'webhook.disabled', aboutEndpoint: 'wh_1' }),
    false,
  ],
] as const)('an event is delivered to %s', (_name, endpoint, occurred, delivered) => {
  expect(isDelivered(endpoint, occurred)).toBe(delivered);
});

it.each([
  ['that occurred before the moment', subscriber(enabledAgain), event({ timestamp: at(300) }), true],
  ['not that occurred after it', subscriber(enabledAgain), event({ timestamp: at(301) }), false],
  ['not from before it was registered', subscriber(enabledAgain), event({ timestamp: at(99) }), false],
  ['not of other kinds', subscriber({ ...enabledAgain, events: ['dds.created'] }), event(), false],
] as const)('an endpoint misses by a disabling an event %s', (_name, endpoint, occurred, missed) => {
  expect(isMissed(endpoint, occurred, new Date(at(300)))).toBe(missed);
});
