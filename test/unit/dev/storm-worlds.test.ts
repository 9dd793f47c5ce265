import { expect, it } from 'vitest';
import { applyItems, worldOf } from '../../../dev/storm/check/fields.ts';
import { readHistory, type Write } from '../../../dev/storm/check/history.ts';
import type { Push } from '../../../dev/storm/check/push.ts';
import { checkPrivate } from '../../../dev/storm/check/private.ts';
import { isExplained, type PrivateRecord, type SeenEvent } from '../../../dev/storm/check/worlds.ts';
import type { BegunLine, Item, PushOutcome } from '../../../dev/storm/lines.ts';

const write = (id: string, outcome: PushOutcome, item: Item, status = ''): Write => {
  const push: Push = {
    id,
    lane: 'a',
    integration: 'i',
    plural: 'suppliers',
    items: [item],
    drafting: false,
    gateway: 0,
    wrong: new Map(),
    begunMs: 0,
    begunAt: '',
    endedMs: 1,
    outcome,
    retryAfter: undefined,
    problem: undefined,
    syncId: undefined,
    answer: undefined,
  };
  return { push, acknowledged: outcome === 200, items: [item], statuses: status === '' ? [] : [status] };
};
const stored = {
  integration: 'i',
  plural: 'suppliers',
  externalId: 'p-1',
  internalId: '',
  push: '',
} as const;
const created = (push?: string): SeenEvent => ({ push, created: true, changed: [] });
const updated = (push: string | undefined, ...changed: string[]): SeenEvent => ({
  push,
  created: false,
  changed,
});
const past = (writes: Write[], events: SeenEvent[], final: Item): PrivateRecord => ({
  plural: 'suppliers',
  writes,
  events,
  final: worldOf(final),
});

it('the model of npm run storm computes the record that the items of a push leave', () => {
  const before = worldOf({ name: 'A', code: 'C', country: 'DE' });
  const items = [{ name: 'B', code: null, country: 'se', phone: undefined, email: '', unknown: 1 }];
  expect(applyItems('suppliers', before, items)).toEqual(worldOf({ name: 'B', country: 'SE' }));
});

const one = write('1', 200, { name: 'A' }, 'CREATED');
const two = write('2', 504, { name: 'B', code: 'X' });
const three = write('3', 200, { name: 'C' }, 'UPDATED');

it.each<[string, SeenEvent[], Item]>([
  [
    'took effect after the next one was answered',
    [created('1'), updated('3', 'name'), updated(undefined, 'code', 'name')],
    { name: 'B', code: 'X' },
  ],
  ['took effect and was not announced', [created('1'), updated('3', 'name')], { name: 'C', code: 'X' }],
  [
    'was announced and did not take effect',
    [created('1'), updated(undefined, 'code', 'name'), updated('3', 'name')],
    { name: 'C' },
  ],
  [
    'took effect in part',
    [created('1'), updated(undefined, 'code'), updated('3', 'name')],
    { name: 'C', code: 'X' },
  ],
  ['undid the next one in silence', [created('1'), updated('3', 'name')], { name: 'B', code: 'X' }],
])('the model of npm run storm does not allow that a cut-off push %s', (_what, events, final) => {
  expect(isExplained(past([one, two, three], events, final))).toBe(false);
});

it('the model of npm run storm allows a late effect of a cut-off push only with the option late', () => {
  const late = past([one, two, three], [created('1'), updated('3', 'name'), updated(undefined, 'code', 'name')], { name: 'B', code: 'X' }); // oxfmt-ignore
  expect(isExplained(late, { late: true })).toBe(true);
  expect(isExplained(late, { untold: true })).toBe(false);
});

it('the model of npm run storm allows a cut-off push or the next push to create the record', () => {
  const first = write('1', 503, { name: 'A' });
  const again = (status: string): Write => write('2', 200, { name: 'A' }, status);
  expect(isExplained(past([first, again('CREATED')], [created('2')], { name: 'A' }))).toBe(true);
  expect(isExplained(past([first, again('UPDATED')], [created()], { name: 'A' }))).toBe(true);
  expect(isExplained(past([first, again('CREATED')], [created()], { name: 'A' }))).toBe(false);
  expect(isExplained(past([first, again('UPDATED')], [created('2')], { name: 'A' }))).toBe(false);
});

it('npm run storm accepts that a cut-off push stores, or does not store, an item that refers to a record that is being erased', () => {
  const begun = { lane: 'a', integration: 'i', drafting: false, wrong: [], gateway: 0, begunAt: '' };
  const items = [
    { externalId: 'p-1', name: 'A' },
    { externalId: 'p-1', name: 'B', supplierExternalId: 'S' },
  ];
  const supplier = { ...begun, plural: 'suppliers', items: [{ externalId: 'S' }] } as const;
  const pushes: BegunLine[] = [
    { ...supplier, push: '1', begunMs: 0 },
    { ...supplier, push: '2', begunMs: 2, action: 'erase' },
    { ...begun, plural: 'products', push: '3', items, begunMs: 4 },
    { ...begun, plural: 'products', push: '4', items, begunMs: 2_000 },
  ];
  const ended = pushes.map(({ push, begunMs }) => ({
    push,
    endedMs: begunMs + 1,
    outcome: begunMs < 4 ? 200 : 504,
  }));
  const { records } = readHistory(pushes, ended);
  const names = records.get('i/products/p-1')?.writes.map((found) => found.items.map(({ name }) => name));
  expect(names).toEqual([['A', 'B'], ['A'], ['A']]);
});

it('the model of npm run storm reports a record with too many cut-off pushes to be judged', () => {
  const cutOff = Array.from({ length: 20 }, (_, nth) => write(`c${nth}`, 504, { name: `N${nth}` }));
  const events = cutOff.map(() => updated(undefined, 'name'));
  const violations: object[] = [];
  checkPrivate(
    {
      key: 'k',
      integration: 'i',
      plural: 'suppliers',
      externalId: 'p-1',
      isPrivate: true,
      writes: [one, ...cutOff],
    },
    {
      byRecord: new Map([
        ['k', [created('1'), ...events].map((event) => Object.assign({ key: 'k', by: '' }, event))],
      ]),
      documents: new Map([['k', { ...stored, fields: { name: 'none of them' } }]]),
      isPending: () => false,
      faults: [],
    },
    (found, what) => violations.push({ class: found, what }),
  );
  expect(violations).toMatchObject([{ class: 'storm', what: expect.stringContaining('too often') }]);
});
