import {
  disabledEventId,
  enabledEventId,
  eventId,
  limits,
  overdueEventId,
} from '@integration-sync/contracts';

import { expect, it } from 'vitest';
import { derivedId, newSyncId } from '../../../shared/sync/src/ids.ts';

const at = new Date('9999-12-31T23:59:59.999Z');
const webhook = `wh_${'0'.repeat(32)}`;
const disabling = { epoch: Number.MAX_SAFE_INTEGER, at };

it.each([
  ['a completed push', eventId(newSyncId(at), 'completed')],
  ['the last record of a push', eventId(newSyncId(at), `redrafted-${limits.itemsPerPushMax - 1}`)],
  ['a push that is overdue', overdueEventId(derivedId('exp', 'acme suppliers'), at)],
  ['a disabled webhook', disabledEventId(webhook, disabling)],
  ['an enabled webhook', enabledEventId(webhook, disabling)],
])('the id of an event about %s has no dot and no space, and at most 255 characters', (_of, id) => {
  expect(id).toMatch(/^[A-Za-z0-9_-]{1,255}$/);
});

it('all replicas and releases make the same id for the same event', () => {
  expect([
    eventId('sync_1', 'created-0'),
    overdueEventId('exp_1', new Date(5)),
    disabledEventId('wh_1', { epoch: 2, at: new Date(5) }),
    enabledEventId('wh_1', { epoch: 2, at: new Date(5) }),
  ]).toEqual(['sync_1-created-0', 'exp_1-overdue-5', 'wh_1-disabled-2-5', 'wh_1-enabled-2-5']);
});
