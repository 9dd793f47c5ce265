import { Batch, type DdsEntry } from '@integration-sync/contracts';
import { describe, expect, it } from 'vitest';
import { makeEvents, type Announcement } from '../../../shared/sync/src/announcing/announcement.ts';
import { answerItems, answerOf, countItems } from '../../../shared/sync/src/items/push-answer.ts';
import { acceptItems, referencedIds } from '../../../shared/sync/src/items/accept.ts';
import type { Kind } from '../../../shared/sync/src/kind.ts';
import type { Verdict } from '../../../shared/sync/src/items/validate.ts';

const untouched = { created: false, drafted: false, changed: [] };
const draft: DdsEntry = {
  ddsId: 'dds_1',
  batchExternalId: 'B',
  batchInternalId: 'bat_2',
  status: 'DRAFT',
  hsCode: null,
  countryOfProduction: null,
  quantity: null,
  unit: null,
  referenceNumber: null,
  verificationNumber: null,
  missing: ['hsCode'],
};
const announcement: Announcement = {
  syncId: 'sync_1',
  action: 'push',
  integration: 'acme',
  entityType: 'batch',
  counts: { created: 1, updated: 3, unchanged: 1, failed: 2 },
  startedAt: new Date('2026-03-31T09:26:53.589Z'),
  completedAt: new Date('2026-03-31T09:26:53.641Z'),
  records: [
    {
      ordinal: 0,
      internalId: 'bat_0',
      externalId: 'a "quoted"\u2028one',
      outcome: { ...untouched, created: true },
    },
    { ordinal: 1, internalId: 'bat_1', externalId: 'b', outcome: untouched },
    {
      ordinal: 2,
      internalId: 'bat_2',
      externalId: 'c',
      outcome: { created: false, drafted: true, changed: ['unit', 'quantity'] },
      draft: { entry: draft, made: true, changed: [] },
    },
  ],
};

const plainKind: Kind = {
  entityType: 'batch',
  plural: 'batches',
  idPrefix: 'bat',
  schema: Batch,
  nameField: 'batchNumber',
};

describe('the events of a push', () => {
  const head = { timestamp: '2026-03-31T09:26:53.641Z', integrationId: 'acme' };

  it('are one for each created or changed record, one for each draft, and sync.completed last', () => {
    const events = makeEvents(announcement);
    expect(
      events.map(({ subject, id, body }) => ({ subject, id, body: JSON.parse(body) as unknown })),
    ).toEqual([
      {
        subject: 'events.acme.batch.created',
        id: 'sync_1-created-0',
        body: {
          event: 'batch.created',
          ...head,
          data: { externalId: 'a "quoted"\u2028one', internalId: 'bat_0' },
        },
      },
      {
        subject: 'events.acme.batch.updated',
        id: 'sync_1-updated-2',
        body: {
          event: 'batch.updated',
          ...head,
          data: { externalId: 'c', internalId: 'bat_2', changedFields: ['unit', 'quantity'] },
        },
      },
      {
        subject: 'events.acme.dds.created',
        id: 'sync_1-drafted-2',
        body: { event: 'dds.created', ...head, data: draft },
      },
      {
        subject: 'events.acme.sync.completed',
        id: 'sync_1-completed',
        body: {
          event: 'sync.completed',
          ...head,
          data: {
            syncId: 'sync_1',
            entityType: 'batch',
            created: 1,
            updated: 3,
            failed: 2,
            startedAt: '2026-03-31T09:26:53.589Z',
            completedAt: '2026-03-31T09:26:53.641Z',
          },
        },
      },
    ]);
  });

  it('have their keys in a fixed order, and no blanks', () => {
    const created = { externalId: 'a "quoted"\u2028one', internalId: 'bat_0' };
    const [first, updated] = makeEvents(announcement).map(({ body }) => body);
    expect(first).toBe(JSON.stringify({ event: 'batch.created', ...head, data: created }));
    expect(updated).toBe(
      '{"event":"batch.updated","timestamp":"2026-03-31T09:26:53.641Z","integrationId":"acme",' +
        '"data":{"externalId":"c","internalId":"bat_2","changedFields":["unit","quantity"]}}',
    );
  });

  it('have dds.updated with the changed fields for a changed draft, and no event for an unchanged draft', () => {
    const of = (changed: readonly ('status' | 'referenceNumber')[]) =>
      makeEvents({
        ...announcement,
        records: announcement.records.map((record) => ({
          ...record,
          ...(record.draft === undefined ? {} : { draft: { entry: draft, made: false, changed } }),
        })),
      }).filter(({ id }) => id.includes('drafted'));
    expect(of(['status', 'referenceNumber'])).toMatchObject([
      {
        subject: 'events.acme.dds.updated',
        id: 'sync_1-redrafted-2',
        body: JSON.stringify({
          event: 'dds.updated',
          ...head,
          data: { ...draft, changedFields: ['status', 'referenceNumber'] },
        }),
      },
    ]);
    expect(of([])).toEqual([]);
  });

  it('of one kind have the same bytes up to the id of their record', () => {
    const [first] = announcement.records;
    if (first === undefined) throw new Error('no record');
    const again = { ...first, ordinal: 9, externalId: 'nine' };
    const events = makeEvents({ ...announcement, records: [first, again] });
    for (const { id, body, begin } of events) {
      expect(id.startsWith(begin?.id ?? '-')).toBe(true);
      expect(body.startsWith(begin?.body ?? '-')).toBe(true);
    }
    expect(events[1]?.begin).toBe(events[0]?.begin);
    expect(events[0]?.begin).toEqual({
      id: 'sync_1-created-',
      body: `{"event":"batch.created",${JSON.stringify(head).slice(1, -1)},"data":{"externalId":"`,
    });
  });

  it('are the same bytes on every replica', () => {
    expect(makeEvents(structuredClone(announcement))).toEqual(makeEvents(announcement));
  });

  it('keep the archiving of a restored record only for the id of the batch', () => {
    const outcome = { ...untouched, changed: ['syncStatus'] };
    const records = [true, false].map((isOverwritten, ordinal) => {
      return { ordinal, internalId: `bat_${ordinal}`, externalId: String(ordinal), outcome, isOverwritten };
    });
    const events = makeEvents({ ...announcement, action: 'archive', records });
    expect(events.map(({ id, isOmitted = false }) => [id, isOmitted])).toEqual([
      ['sync_1-archived-0', true],
      ['sync_1-archived-1', false],
      ['sync_1-completed', false],
    ]);
  });

  it('are only sync.completed where nothing changed', () => {
    expect(makeEvents({ ...announcement, records: [] }).map(({ id }) => id)).toEqual(['sync_1-completed']);
  });
});

const verdict = (externalId: string, item: object, reasons: [string, string][] = []): Verdict => ({
  item: { externalId, ...item },
  externalId,
  reasons: new Map(reasons),
});

describe('judging the items of a push', () => {
  const rule = {
    field: 'parent',
    internalId: { name: 'parentInternalId', prefix: 'par' },
    notFound: (id: string) => `no "${id}"`,
    find: () => Promise.reject(new Error('not asked here')),
  };
  const verdicts = [
    verdict('a', { parent: 'there' }),
    verdict('b', { parent: 'gone' }),
    verdict('c', { parent: 'gone' }, [['name', 'name is wrong']]),
    verdict('d', { parent: 5 }, [['parent', 'parent is wrong']]),
    verdict('e', { parent: '' }),
    verdict('f', { parent: null }),
    verdict('g', {}),
  ];

  it('looks up once every record that items reference', () => {
    expect(referencedIds('parent', verdicts)).toEqual(['there', 'gone']);
  });

  it('accepts valid items with an existing reference, or without one', () => {
    const { accepted, rejected } = acceptItems(verdicts, { rule, found: new Map([['there', true]]) });
    expect(accepted.map(({ externalId, position }) => [externalId, position])).toEqual([
      ['a', 0],
      ['e', 4],
      ['f', 5],
      ['g', 6],
    ]);
    const notThere = { field: 'parent', detail: 'no "gone"', code: 'reference_not_found' };
    expect(rejected).toEqual([
      { position: 1, externalId: 'b', reasons: [notThere] },
      { position: 2, externalId: 'c', reasons: [{ field: 'name', detail: 'name is wrong' }, notThere] },
      { position: 3, externalId: 'd', reasons: [{ field: 'parent', detail: 'parent is wrong' }] },
    ]);
  });
});

const record = (externalId: string, positions: number[]) => ({
  ordinal: 0,
  internalId: `sup_${externalId}`,
  externalId,
  items: positions.map(() => ({})),
  positions,
});

const reason = (detail: string) => ({ field: 'name', detail });

describe('the answer to a push', () => {
  const applied = [
    { record: record('a', [0, 4]), created: true, idle: 1 },
    { record: record('b', [2]), created: false, idle: 0 },
    { record: record('c', [5, 6]), created: false, idle: 1 },
  ];
  const rejected = [
    { position: 3, externalId: 'x', reasons: ['one', 'two'].map(reason) },
    { position: 1, externalId: '', reasons: ['three'].map(reason) },
  ];

  it('counts items, not records', () => {
    expect(countItems(applied, rejected)).toEqual({ created: 1, updated: 4, unchanged: 2, failed: 2 });
    expect(countItems([], [])).toEqual({ created: 0, updated: 0, unchanged: 0, failed: 0 });
  });

  it('has an entry for each item, and the errors, both in the pushed order', () => {
    expect(answerItems(applied, rejected, 'UPDATED')).toEqual({
      success: false,
      errors: [
        { externalId: '', error: 'three' },
        { externalId: 'x', error: 'one; two' },
      ],
      records: [
        { externalId: 'a', internalId: 'sup_a', status: 'CREATED' },
        { externalId: '', internalId: '', status: 'ERROR' },
        { externalId: 'b', internalId: 'sup_b', status: 'UPDATED' },
        { externalId: 'x', internalId: '', status: 'ERROR' },
        { externalId: 'a', internalId: 'sup_a', status: 'UPDATED' },
        { externalId: 'c', internalId: 'sup_c', status: 'UPDATED' },
        { externalId: 'c', internalId: 'sup_c', status: 'UPDATED' },
      ],
    });
  });

  it('has success: true if no item failed, also for a push without items', () => {
    expect(answerItems([], [], 'UPDATED')).toEqual({ success: true, errors: [], records: [] });
  });

  it('has the drafts under the key of the kind, and none for a kind without drafts', () => {
    const counts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
    const answered = { applied: [], rejected: [], counts, asked: true, drafts: [{ entry: draft }] };
    const withDrafts: Kind = {
      ...plainKind,
      drafting: {
        flag: 'draftLabels',
        answerKey: 'labelsMade',
        collection: 'labels',
        idPrefix: 'lab',
        follows: [],
        isWanted: () => false,
        draft: () => draft,
        shown: (stored) => stored,
      },
    };
    const common = { success: true, created: 0, updated: 0, errors: [], records: [] };
    expect(answerOf(withDrafts, answered)).toEqual({ ...common, labelsMade: [draft] });
    expect(answerOf(withDrafts, { ...answered, asked: false })).toEqual({ ...common, labelsMade: [] });
    expect(answerOf(plainKind, answered)).toEqual(common);
  });
});
