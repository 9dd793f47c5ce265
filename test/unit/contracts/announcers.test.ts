import { announcedKinds, eventKinds, mayAnnounce } from '@integration-sync/contracts';
import { expect, it } from 'vitest';

const announcers = Object.keys(announcedKinds);

const announcersOf = (kind: string): string[] => announcers.filter((one) => mayAnnounce(one, kind));

it('only the expected services may announce each kind of event', () => {
  expect(Object.fromEntries(eventKinds.map((kind) => [kind, announcersOf(kind)]))).toEqual({
    'supplier.created': ['catalog'],
    'supplier.updated': ['catalog'],
    'supplier.archived': ['catalog'],
    'supplier.erased': ['catalog'],
    'product.created': ['catalog'],
    'product.updated': ['catalog'],
    'product.archived': ['catalog'],
    'batch.created': ['batches'],
    'batch.updated': ['batches'],
    'batch.archived': ['batches'],
    'dds.created': ['batches'],
    'dds.updated': ['batches'],
    'sync.completed': ['catalog', 'batches'],
    'sync.overdue': ['catalog'],
    'webhook.disabled': ['webhooks'],
    'webhook.enabled': ['webhooks'],
  });
});

it.each([
  ['catalog', 'supplier'],
  ['catalog', 'supplier.created.more'],
  ['catalog', 'sync.begun'],
  ['catalog', 'supplier*.created'],
  ['gateway', 'sync.completed'],
  ['constructor', 'supplier.created'],
  ['', ''],
])('%s may not announce %s', (announcer, kind) => {
  expect(mayAnnounce(announcer, kind)).toBe(false);
});
