import { expect, it } from 'vitest';
import {
  deliveriesId,
  deliveriesSubject,
  heldId,
  heldSubject,
  readDelivery,
  readEventHead,
  type Delivery,
} from '../../../services/webhooks/src/envelope.ts';

const delivery: Delivery = {
  endpointId: 'wh_0123',
  epoch: 3,
  version: 7,
  eventId: '01JQP5Z7W2K4M8N6R3T9V1X5YB-0-c',
  sending: '0',
  attempts: 0,
  dueAtMs: 0,
  body: Buffer.from('{}'),
};

it('reads a delivery as it was written', () => {
  const message = { subject: deliveriesSubject(delivery), id: deliveriesId(delivery), body: delivery.body };
  expect(readDelivery(message)).toEqual(delivery);
});

it('reads what is held as it was set aside', () => {
  const tried = { ...delivery, attempts: 2, dueAtMs: 1_774_949_213_589 };
  const message = { subject: heldSubject('wh_0123', 3), id: heldId(tried), body: tried.body };
  expect(readDelivery(message)).toEqual({ ...tried, version: 0 });
});

it('gives one event, endpoint and sending one id, and any other another', () => {
  const ids = [
    delivery,
    { ...delivery, version: 8, epoch: 4 },
    { ...delivery, sending: 'a1' },
    { ...delivery, endpointId: 'wh_4567' },
    { ...delivery, eventId: 'other' },
  ].map(deliveriesId);
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(4);
});

it.each([
  ['', ''],
  ['deliveries.wh_1', 'e.wh_1.0'],
  ['deliveries.wh_1.0.1', ''],
  ['deliveries.wh_1.0.1', '.wh_1.0'],
  ['deliveries.wh_1.0.1', 'no-dots'],
])('takes %j with the id %j for none of ours', (subject, id) => {
  expect(readDelivery({ subject, id, body: new Uint8Array() })).toBeUndefined();
});

it.each(['', 'x', 'null', '[]', '{}', '{"event":1,"timestamp":"t"}', '{"event":"e"}'])(
  'sees no event in %j',
  (text) => {
    expect(readEventHead(Buffer.from(text))).toBeUndefined();
  },
);
