import { expect, it } from 'vitest';
import { costTable } from '../../../dev/bench/costs.ts';
import { addSpent, nothingSpent, processors, type Spent } from '../../../dev/bench/cpu.ts';
import { tableOf } from '../../../dev/bench/table.ts';

// What the benchmarks print under their figures.

const spent = (byProcess: Record<string, number>, otherMs = 0): Spent => ({
  byProcess: new Map(Object.entries(byProcess)),
  machineMs: 1_000,
  otherMs,
});

it('the benchmark’s table has a row for each process, and the sum of a product leaves out other processes', () => {
  const one = spent({ gateway: 3, rival: 5 });
  const costs = [
    { name: 'service', spent: one, count: 1, own: ['gateway'] },
    { name: 'rival', spent: one, count: 1, own: ['rival'] },
  ];
  expect(costTable(costs, { one: 'delivery', in: 'µs' })).toEqual([
    '',
    ...tableOf(
      ['µs of processor time per delivery', 'service', 'rival'],
      [
        ['  gateway', '3000.0', ''],
        ['  rival', '', '5000.0'],
        ['  all of them', '3000.0', '5000.0'],
        ['idle beside them', '5000.0', '3000.0'],
        [`other work, of ${processors} processors`, '0 %', '0 %'],
      ],
    ),
  ]);
});

it('the costs of several rounds of the benchmark are added up for each process', () => {
  const sum = nothingSpent();
  addSpent(sum, spent({ catalog: 1 }, 10));
  addSpent(sum, spent({ catalog: 5, gateway: 4 }, 20));
  expect(sum).toEqual({ ...spent({ catalog: 6, gateway: 4 }, 30), machineMs: 2_000 });
});
