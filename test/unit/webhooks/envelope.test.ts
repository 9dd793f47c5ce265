import { describe, expect, it } from 'vitest';
import {
  heldId,
  heldSubject,
  packParcels,
  readEvent,
  readEventHead,
  readHeld,
  unpackParcel,
  type Delivery,
} from '../../../services/webhooks/src/envelope.ts';

const to = { endpointId: 'wh_0123', epoch: 3, version: 7, sending: '0' };
const eventsOf = (count: number, body = '{"name":"Åsa"}') =>
  Array.from({ length: count }, (_, n) => ({
    eventId: `01JQP5Z7W2K4-${n}-c`,
    body: Buffer.from(`${body} ${n}`),
  }));
const pack = (events: Parameters<typeof packParcels>[1], more = {}) => [
  ...packParcels({ ...to, ...more }, events),
];

describe('a parcel', () => {
  it('brings its deliveries as they were packed', () => {
    const events = eventsOf(3);
    const [message] = pack(events);
    expect(message?.subject).toBe('deliveries.wh_0123.3.7');
    expect(unpackParcel(message ?? { subject: '', body: Buffer.alloc(0) })).toEqual(
      events.map((event) => Object.assign({ attempts: 0, dueAtMs: 0 }, to, event)),
    );
  });

  it('holds at most 64 events and 256 KiB', () => {
    expect(pack(eventsOf(130)).map((message) => unpackParcel(message).length)).toEqual([64, 64, 2]);
    const large = eventsOf(5, 'x'.repeat(100 * 1024));
    expect(pack(large).map((message) => unpackParcel(message).length)).toEqual([2, 2, 1]);
    const huge = eventsOf(2, 'x'.repeat(300 * 1024));
    expect(pack(huge)).toHaveLength(2);
  });

  it('is not made for nothing', () => {
    expect(pack([])).toEqual([]);
  });

  it('has the same id for the same events, endpoint and sending, and any other another', () => {
    const ids = [
      pack(eventsOf(3)),
      pack(eventsOf(3), { version: 8, epoch: 4 }),
      pack(eventsOf(3), { sending: 'a1' }),
      pack(eventsOf(3), { endpointId: 'wh_4567' }),
      pack(eventsOf(2)),
      pack(eventsOf(3).slice(1)),
    ].map(([message]) => message?.id);
    expect(ids[1]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(5);
  });

  it.each([
    ['', ''],
    ['deliveries.wh_1', '["0"]\n'],
    ['deliveries.wh_1.0.1', ''],
    ['deliveries.wh_1.0.1', '["0","e",2]'],
    ['deliveries.wh_1.0.1', '{}\n'],
  ])('is not seen in %j with %j', (subject, body) => {
    expect(unpackParcel({ subject, body: Buffer.from(body) })).toEqual([]);
  });
});

describe('what is held', () => {
  const delivery: Delivery = {
    ...to,
    version: 0,
    eventId: 'e',
    attempts: 2,
    dueAtMs: 1_774_949_213_589,
    body: Buffer.from('{}'),
  };

  it('is read as it was set aside', () => {
    const message = { subject: heldSubject('wh_0123', 3), id: heldId(delivery), body: delivery.body };
    expect(readHeld(message)).toEqual(delivery);
  });

  it.each([
    ['held.wh_1', 'e.wh_1.0.0.0'],
    ['held.wh_1.0', ''],
    ['held.wh_1.0', '.wh_1.0.0.0'],
    ['held.wh_1.0', 'e.wh_1.0'],
  ])('is not seen in %j with the id %j', (subject, id) => {
    expect(readHeld({ subject, id, body: new Uint8Array() })).toBeUndefined();
  });
});

describe('an event', () => {
  const head = { event: 'supplier.created', timestamp: '2026-03-31T09:26:53.589Z' };

  it.each([
    ['as our services write it', { ...head, integrationId: 'acme', data: {} }],
    ['in another order', { integrationId: 'acme', data: {}, ...head }],
    ['with a long part before', { data: 'x'.repeat(500), ...head }],
  ])('says what it is, %s', (_name, event) => {
    expect(readEventHead(Buffer.from(JSON.stringify(event)))).toMatchObject(head);
    expect(readEvent(Buffer.from(JSON.stringify(event)))).toMatchObject(head);
  });

  it.each(['', 'x', 'null', '[]', '{}', '{"event":1,"timestamp":"t"}', '{"event":"e"}'])(
    'is not seen in %j',
    (text) => {
      expect(readEventHead(Buffer.from(text))).toBeUndefined();
    },
  );
});
