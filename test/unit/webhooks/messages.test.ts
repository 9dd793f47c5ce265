import { describe, expect, it } from 'vitest';
import {
  heldId,
  heldSubject,
  packParcels,
  readEvent,
  readEventHead,
  readHeld,
  unpackParcel,
  type PackOptions,
  type Delivery,
} from '../../../services/webhooks/src/streams/messages.ts';

const addressee = { endpointId: 'wh_0123', epoch: 3, version: 7 };
const addressees = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ endpointId: `wh_${n}`, epoch: n, version: n + 1 }));
const eventsOf = (count: number, body = '{"name":"Åsa"}') =>
  Array.from({ length: count }, (_, n) => ({
    eventId: `01JQP5Z7W2K4-${n}-c`,
    body: Buffer.from(`${body} ${n}`),
  }));
const pack = (events: PackOptions['events'], to: PackOptions['to'] = [addressee], sending = '0') => [
  ...packParcels({ integration: 'acme', sending, to, events }, 'shared'),
];
const sizes = (parcels: readonly { body: Uint8Array }[]) =>
  parcels.map((parcel) => unpackParcel(parcel).length);

describe('a parcel', () => {
  it('brings each of its events for each of its endpoints, those of one endpoint together', () => {
    const events = eventsOf(3);
    const parcels = pack(events, addressees(2));
    expect(parcels.map(({ subject }) => subject)).toEqual(['deliveries.acme']);
    expect(parcels.flatMap((parcel) => unpackParcel(parcel))).toEqual(
      addressees(2).flatMap((to) =>
        events.map((event) => Object.assign({ sending: '0', attempts: 0, dueAtMs: 0 }, to, event)),
      ),
    );
  });

  it('holds at most 64 deliveries, be it of events or of endpoints, and 256 KiB', () => {
    expect(sizes(pack(eventsOf(130)))).toEqual([64, 64, 2]);
    expect(sizes(pack(eventsOf(1), addressees(130)))).toEqual([64, 64, 2]);
    expect(sizes(pack(eventsOf(4), addressees(20)))).toEqual([60, 20]);
    expect(sizes(pack(eventsOf(5, 'x'.repeat(100 * 1024))))).toEqual([2, 2, 1]);
    expect(sizes(pack(eventsOf(2, 'x'.repeat(300 * 1024))))).toEqual([1, 1]);
  });

  it('is not made for nothing', () => {
    expect(pack([])).toEqual([]);
    expect(pack(eventsOf(1), [])).toEqual([]);
  });

  it('has the same id for the same events, endpoints and sending, and any other another', () => {
    const ids = [
      pack(eventsOf(3)),
      pack(eventsOf(3), [{ ...addressee, version: 8, epoch: 4 }]),
      pack(eventsOf(3), [addressee], 'a1'),
      pack(eventsOf(3), addressees(1)),
      pack(eventsOf(3), addressees(2)),
      pack(eventsOf(2)),
      pack(eventsOf(3).slice(1)),
      pack(eventsOf(4).toSpliced(1, 1)),
      pack(eventsOf(4).toSpliced(2, 1)),
      pack(eventsOf(3), addressees(4).toSpliced(1, 1)),
      pack(eventsOf(3), addressees(4).toSpliced(2, 1)),
    ].map(([message]) => message?.id);
    expect(ids[1]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(10);
  });

  it.each(['', '\n', '["0"]', '["0"]\n', '["0",1,2]\n', '{}\n', 'x\n'])('is not seen in %j', (body) => {
    expect(unpackParcel({ body: Buffer.from(body) })).toEqual([]);
  });
});

describe('what is held', () => {
  const delivery: Delivery = {
    endpointId: 'wh_0123',
    epoch: 3,
    sending: '0',
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
    ['as the services write it', { ...head, integrationId: 'acme', data: {} }],
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
