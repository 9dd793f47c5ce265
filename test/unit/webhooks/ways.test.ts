// Which way deliveries take: a few of each integration the shared one, and the rest its own.
import { expect, it } from 'vitest';
import { openCounting, wayOf } from '../../../services/webhooks/src/streams/ways.ts';

const unsettled = (
  shared: Readonly<Record<string, number>> = {},
  backlog: Readonly<Record<string, number>> = {},
) => ({ shared: new Map(Object.entries(shared)), backlog: new Map(Object.entries(backlog)) });

const others = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`o${n}`, 1]));

it.each([
  { has: 'nothing', now: unsettled(), deliveries: 512, way: 'shared' },
  { has: 'nothing', now: unsettled(), deliveries: 513, way: 'backlog' },
  { has: '7 parcels there', now: unsettled({ acme: 7 }), deliveries: 1, way: 'shared' },
  { has: '8 parcels there', now: unsettled({ acme: 8 }), deliveries: 1, way: 'backlog' },
  { has: 'something on its own', now: unsettled({}, { acme: 1 }), deliveries: 1, way: 'backlog' },
  { has: 'a neighbour with much', now: unsettled({ o: 8 }, { o: 99 }), deliveries: 512, way: 'shared' },
  { has: '15 neighbours', now: unsettled(others(15)), deliveries: 128, way: 'shared' },
  { has: '15 neighbours', now: unsettled(others(15)), deliveries: 129, way: 'backlog' },
  { has: '1,000 neighbours', now: unsettled(others(1_000)), deliveries: 64, way: 'shared' },
  {
    has: 'neighbours and 1 there',
    now: unsettled({ ...others(40), acme: 1 }),
    deliveries: 1,
    way: 'backlog',
  },
])('$deliveries deliveries of one who has $has take the way $way', ({ now, deliveries, way }) => {
  expect(wayOf('acme', deliveries, now)).toBe(way);
});

it('one question for what is on the ways serves all who ask meanwhile', async () => {
  let asked = 0;
  const count = openCounting({
    async countBySubject() {
      asked += 1;
      return new Map([
        ['deliveries.acme', 3],
        ['deliveries.acme.backlog', 5],
        ['deliveries.other', 1],
      ]);
    },
  });
  const [first, second] = await Promise.all([count(), count()]);
  expect(asked).toBe(1);
  expect(first).toEqual(unsettled({ acme: 3, other: 1 }, { acme: 5 }));
  expect(second).toEqual(first);
});
