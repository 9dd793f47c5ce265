import { describe, expect, it } from 'vitest';
import type { Subscriber } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import { epochOf, type EventFacts } from '../../../services/webhooks/src/fanout/subscription.ts';

const at = (second: number): string => new Date(1_000 * second).toISOString();

const subscriber = (more: Partial<Subscriber> = {}): Subscriber => ({
  _id: 'wh_1',
  events: ['supplier.created', 'webhook.disabled'],
  active: true,
  createdAt: new Date(at(100)),
  disablings: [],
  epoch: 0,
  eventsAfter: 10,
  earlierEvents: [],
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

const disabledAt300 = { active: false, epoch: 1, disablings: [{ epoch: 0, at: new Date(at(300)) }] };
const enabledAgain = { ...disabledAt300, active: true, eventsAfter: 50 };

const changedKinds = {
  events: ['sync.completed' as const],
  earlierEvents: [
    { through: 20, events: ['batch.created' as const] },
    { through: 30, events: ['supplier.created' as const] },
  ],
};

describe('an event is for', () => {
  it.each([
    ['an active endpoint that subscribes to it', subscriber(), event(), 0],
    [
      'no endpoint that does not subscribe to its kind',
      subscriber({ events: ['sync.completed'] }),
      event(),
      undefined,
    ],
    ['the kinds of its time', subscriber(changedKinds), event({ sequence: 30 }), 0],
    ['no kinds of an earlier time', subscriber(changedKinds), event({ sequence: 20 }), undefined],
    ['no kinds of a later time', subscriber(changedKinds), event({ sequence: 31 }), undefined],
    [
      'the kinds of its time, though it comes after the change',
      subscriber({
        events: ['sync.completed'],
        earlierEvents: [{ through: 5, underWay: ['sync_0', 'sync_1'], events: ['supplier.created'] }],
      }),
      event(),
      0,
    ],
    [
      'no endpoint registered after it, though it comes afterwards',
      subscriber({ eventsUnderWay: ['sync_1'] }),
      event(),
      undefined,
    ],
    [
      'no epoch, if it occurred while disabled and comes when enabled again',
      subscriber({ ...enabledAgain, eventsUnderWay: ['sync_1'] }),
      event({ sequence: 51, timestamp: at(350) }),
      undefined,
    ],
    ['those registered while another was under way', subscriber({ eventsUnderWay: ['sync_2'] }), event(), 0],
    ['no endpoint registered after it', subscriber(), event({ sequence: 10, timestamp: at(99) }), undefined],
    ['the epoch that ended, if it occurred before the end', subscriber(disabledAt300), event(), 0],
    [
      'no epoch, if it occurred after the end',
      subscriber(disabledAt300),
      event({ timestamp: at(301) }),
      undefined,
    ],
    [
      'the new epoch, once enabled again',
      subscriber(enabledAgain),
      event({ sequence: 51, timestamp: at(400) }),
      1,
    ],
    [
      'no epoch, if it occurred while disabled',
      subscriber(enabledAgain),
      event({ sequence: 50, timestamp: at(350) }),
      undefined,
    ],
    [
      'the epoch that ended, though fanned out when enabled again',
      subscriber(enabledAgain),
      event({ sequence: 50 }),
      0,
    ],
    [
      'no endpoint that did not exist yet, though disabled since',
      subscriber(disabledAt300),
      event({ timestamp: at(99) }),
      undefined,
    ],
    [
      'others, where it says that an endpoint was disabled',
      subscriber(),
      event({ event: 'webhook.disabled', aboutEndpoint: 'wh_2' }),
      0,
    ],
    [
      'not the disabled one itself',
      subscriber(),
      event({ event: 'webhook.disabled', aboutEndpoint: 'wh_1' }),
      undefined,
    ],
  ] as const)('%s', (_name, endpoint, occurred, epoch) => {
    expect(epochOf(endpoint, occurred)).toBe(epoch);
  });
});
