import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packParcels, readHeld, unpackParcel } from '../../../services/webhooks/src/streams/messages.ts';

// Which trace each delivery of a parcel belongs to, and what a release that knows no traces makes of it.

const trace = (n: number): string => `00-${'0'.repeat(31)}${n}-${'0'.repeat(15)}${n}-01`;
const to = [
  { endpointId: 'wh_1', epoch: 0, version: 1 },
  { endpointId: 'wh_2', epoch: 0, version: 1 },
];

const pack = (traces: readonly (string | undefined)[]) => [
  ...packParcels(
    {
      integration: 'acme',
      sending: '0',
      to,
      events: traces.map((traceparent, n) => ({
        eventId: `e${n}`,
        body: Buffer.from(`{${n}}`),
        traceparent,
      })),
    },
    'shared',
  ),
];

const headOf = (body: Uint8Array): unknown[] =>
  JSON.parse(Buffer.from(body).toString().split('\n', 1)[0] ?? '');

describe('a parcel', () => {
  it('brings each event with its trace, or with none', () => {
    const one = constantFrom(undefined, trace(1), trace(2), trace(3));
    assert(
      property(array(one, { minLength: 1, maxLength: 100 }), (traces) => {
        const deliveries = pack(traces).flatMap((parcel) => unpackParcel(parcel));
        const seen = deliveries.filter(({ endpointId }) => endpointId === 'wh_2');
        expect(seen.map(({ traceparent }) => traceparent)).toEqual(traces);
      }),
    );
  });

  it('says a trace once for all events of a push', () => {
    const [parcel] = pack([trace(1), trace(1), trace(1), undefined, trace(2)]);
    expect(headOf(parcel?.body ?? new Uint8Array())[3]).toEqual([
      [trace(1), 3],
      ['', 1],
      [trace(2), 1],
    ]);
  });

  it('without a trace has the bytes that the release before gave it', () => {
    const [parcel] = pack([undefined, undefined]);
    expect(Buffer.from(parcel?.body ?? '').toString()).toBe(
      '["0",[["wh_1",0,1],["wh_2",0,1]],[["e0",3],["e1",3]]]\n{0}{1}',
    );
  });

  it('has the same id with a trace and without, so that it is stored once', () => {
    expect(pack([trace(1)])[0]?.id).toBe(pack([undefined])[0]?.id);
  });

  it('takes for a trace only what is one', () => {
    const body = Buffer.from('["0",[["wh_1",0,1]],[["e0",2]],[["x\\r\\ny: 1",1]]]\n{}');
    expect(unpackParcel({ body })).toEqual([
      { ...to[0], sending: '0', attempts: 0, dueAtMs: 0, eventId: 'e0', body: Buffer.from('{}') },
    ]);
  });
});

it('what is held keeps its trace', () => {
  const message = { subject: 'held.wh_1.0', id: 'e.wh_1.0.1.0', body: Buffer.from('{}') };
  expect(readHeld({ ...message, traceparent: trace(1) })?.traceparent).toBe(trace(1));
  expect(readHeld(message)?.traceparent).toBeUndefined();
});
