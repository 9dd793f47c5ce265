import { expect, it } from 'vitest';
import { costTables } from '../../../dev/bench/costs.ts';
import { addSpent, nothingSpent, processors, type Spent } from '../../../dev/bench/cpu.ts';
import { tableOf } from '../../../dev/bench/table.ts';

// What the benchmarks print under their figures.

const spent = (byProcess: Record<string, Record<string, number>>, otherMs = 0): Spent => ({
  byProcess: new Map(
    Object.entries(byProcess).map(([name, groups]) => [name, new Map(Object.entries(groups))]),
  ),
  machineMs: 1_000,
  otherMs,
});

it('the benchmark’s table has the costs of a push, in a row for each process and each of its groups of threads', () => {
  const service = spent({ gateway: { main: 30, V8: 10 }, 'nats-server': { 'nats-server': 200 } }, 250);
  const bare = spent({ 'nats-server': { 'nats-server': 5 } });
  const costs = [
    { name: 'service', spent: service, count: 10 },
    { name: 'bare', spent: bare, count: 5 },
  ];
  expect(costTables(costs, { one: 'push' })).toEqual([
    '',
    ...tableOf(
      ['ms of processor time per push', 'service', 'bare'],
      [
        ['  gateway', '4.00', ''],
        ['    main', '3.00', ''],
        ['    V8', '1.00', ''],
        ['  nats-server', '20.00', '1.00'],
        ['  all of them', '24.00', '1.00'],
        [`other work, of ${processors} processors`, '25 %', '0 %'],
      ],
    ),
  ]);
});

it('processor time of a foreign process is not in the sum', () => {
  const one = spent({ gateway: { main: 3 }, rival: { main: 5 } });
  const costs = [
    { name: 'service', spent: one, count: 1, own: ['gateway'] },
    { name: 'rival', spent: one, count: 1, own: ['rival'] },
  ];
  expect(costTables(costs, { one: 'push' }).map((line) => line.trim())).toEqual([
    '',
    ...tableOf(
      ['ms of processor time per push', 'service', 'rival'],
      [
        ['  gateway', '3.00', ''],
        ['  rival', '', '5.00'],
        ['  all of them', '3.00', '5.00'],
        ['idle beside them', '5.00', '3.00'],
        [`other work, of ${processors} processors`, '0 %', '0 %'],
      ],
    ).map((line) => line.trim()),
  ]);
});

it('groups of threads with little time are summed in one row', () => {
  const one = spent({ database: { writer: 95, ticker: 2, journal: 2, clock: 1 } });
  const table = costTables([{ name: 'x', spent: one, count: 1 }], { one: 'delivery', in: 'µs' });
  expect(table.map((line) => line.split(/ {2,}/).filter(Boolean))).toEqual([
    [],
    ['µs of processor time per delivery', 'x'],
    ['database', '100000.0'],
    ['writer', '95000.0'],
    ['other threads', '5000.0'],
    ['all of them', '100000.0'],
    [`other work, of ${processors} processors`, '0 %'],
  ]);
});

it('more than five columns go into a second table', () => {
  const costs = Array.from({ length: 6 }, (_, n) => ({
    name: `c${n}`,
    spent: spent({ gateway: { main: 1 } }),
    count: 1,
  }));
  const heads = costTables(costs, { one: 'page' }).filter((line) => line.startsWith('ms of'));
  expect(heads.map((line) => line.split(/ +/).slice(6))).toEqual([['c0', 'c1', 'c2', 'c3', 'c4'], ['c5']]);
});

it('the costs of several turns of the benchmark are summed by process and group of threads', () => {
  const sum = nothingSpent();
  addSpent(sum, spent({ catalog: { main: 1 } }, 10));
  addSpent(sum, spent({ catalog: { main: 2, V8: 3 }, gateway: { main: 4 } }, 20));
  expect(sum).toEqual({
    ...spent({ catalog: { main: 3, V8: 3 }, gateway: { main: 4 } }, 30),
    machineMs: 2_000,
  });
});
