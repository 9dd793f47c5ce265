// What the console computes from what it is told: no browser takes part.
import { describe, expect, it } from 'vitest';
import { curlOf, get, page, post, remove } from '../../../console/src/api/request.ts';
import type { DeliveryAttempt, Webhook } from '../../../console/src/api/shapes.ts';
import { leadOf, runOf, timeIn } from '../../../console/src/text/box.ts';
import { csvOf } from '../../../console/src/text/csv.ts';
import { groupByReason } from '../../../console/src/text/reasons.ts';
import { sentenceOf } from '../../../console/src/text/state.ts';
import { shortTime, spanOf, utcOf } from '../../../console/src/text/time.ts';

const run = `sync_01a217635ae6${'0'.repeat(20)}`;

describe('the box', () => {
  it.each([
    [run, { kind: 'run', id: run }],
    [` ${run} `, { kind: 'run', id: run }],
    [`${run}-created-0`, { kind: 'event', id: `${run}-created-0` }],
    [`wh_${'a'.repeat(32)}`, { kind: 'webhook', id: `wh_${'a'.repeat(32)}` }],
    [`wh_${'a'.repeat(32)}-disabled-1`, { kind: 'event', id: `wh_${'a'.repeat(32)}-disabled-1` }],
    ['SUP-001', { kind: 'record', id: 'SUP-001' }],
    ['..', { kind: 'record', id: '..' }],
    [' a/b ', { kind: 'record', id: ' a/b ' }],
    ['sync_1', { kind: 'record', id: 'sync_1' }],
    ['  ', undefined],
  ])('leads from %j to %j', (text, lead) => {
    expect(leadOf(text)).toEqual(lead);
  });

  it('knows the run of an event, and when it was', () => {
    expect(runOf(`${run}-created-0`)).toBe(run);
    expect(new Date(timeIn(`${run}-created-0`) ?? 0).getUTCFullYear()).toBe(2026);
    expect(runOf('wh_1')).toBeUndefined();
    expect(timeIn('SUP-001')).toBeUndefined();
  });
});

describe('CSV', () => {
  it.each([
    ['=1+1', "'=1+1"],
    ['+49', "'+49"],
    ['-1', "'-1"],
    ['@x', "'@x"],
    [' =1', "' =1"],
    ['\t=1', "'\t=1"],
    ['a,b', '"a,b"'],
    ['say "x"\nthen', '"say ""x""\nthen"'],
    ['plain', 'plain'],
  ])('keeps %j text', (cell, written) => {
    expect(csvOf([[cell]])).toBe(`${written}\r\n`);
  });

  it('leaves numbers as they are', () => {
    expect(csvOf([[-1, 'x']])).toBe('-1,x\r\n');
  });
});

it('groups errors by their reason, the largest group first, whatever they quote', () => {
  const errors = ['a "x"', 'b', 'a "y \\" z"', 'a ""'].map((error, index) => ({ error, index }));
  expect(groupByReason(errors).map(({ reason, errors: group }) => [reason, group.length])).toEqual([
    ['a “…”', 3],
    ['b', 1],
  ]);
});

describe('a curl', () => {
  const base = 'https://example.com/sync/console';

  it('is what the page sends, behind the prefix of a proxy, and has no token in it', () => {
    expect(curlOf(get('/sync-runs', { failed: true, cursor: undefined, entityType: '' }), base)).toBe(
      `curl -s 'https://example.com/sync/api/v1/integration/sync-runs?failed=true' \\\n  -H "Authorization: Bearer $KEY"`,
    );
    expect(curlOf(page('token'), base)).toContain("'https://example.com/sync/token'");
    expect(curlOf(remove('/webhook-events/wh_1'), base)).toContain('-X DELETE');
  });

  it('has nothing in it that a shell would expand', () => {
    const command = curlOf(post('/suppliers', { name: "it's $(rm) `x`" }), base);
    expect(command).toContain(String.raw`-d '{"name":"it'\''s $(rm) ` + '`x`' + String.raw`"}'`);
  });
});

describe('the sentence of a webhook', () => {
  const webhook: Webhook = {
    id: 'wh_1',
    url: 'https://example.com/',
    events: ['sync.completed'],
    active: true,
    createdAt: '2026-11-26T00:00:00.000Z',
    disabledAt: null,
    disabledReason: null,
    consecutiveFailures: 0,
  };
  const last: DeliveryAttempt = {
    eventId: 'e',
    event: 'sync.completed',
    attempt: 1,
    at: '2026-11-26T02:14:00.000Z',
    outcome: 'failed',
    responseStatus: 503,
    durationMs: 1,
    error: 'the receiver answered 503',
    nextAttemptAt: null,
  };
  const disabledAt = new Date(2026, 10, 26, 2, 14, 9).toISOString();
  const now = new Date(2026, 10, 26, 9);
  const stopped = { ...webhook, active: false, disabledAt, consecutiveFailures: 10 };

  it.each([
    [webhook, undefined, 'Active.'],
    [{ ...webhook, consecutiveFailures: 1 }, last, 'Failing: 1 failure in a row, the last a 503.'],
    [
      { ...stopped, disabledReason: 'failures' as const },
      last,
      'Disabled at 02:14:09 after 10 failures, the last a 503.',
    ],
    [
      { ...stopped, disabledReason: 'failures' as const },
      { ...last, responseStatus: null, error: 'refused' },
      'Disabled at 02:14:09 after 10 failures, the last without an answer (refused).',
    ],
    [{ ...stopped, disabledReason: 'manual' as const }, last, 'Paused by hand at 02:14:09.'],
    [
      { ...stopped, disabledReason: 'gone' as const },
      last,
      'Disabled at 02:14:09: the receiver answered 410 Gone.',
    ],
  ])('%# says how it is', (of, attempt, sentence) => {
    expect(sentenceOf(of, attempt, now)).toBe(sentence);
  });
});

it('shows times of today without their day, and UTC beside', () => {
  const at = new Date(2026, 10, 26, 2, 14, 9);
  expect(shortTime(at, new Date(2026, 10, 26, 23))).toBe('02:14:09');
  expect(shortTime(at, new Date(2026, 10, 27))).toBe('26 Nov 02:14:09');
  expect(utcOf(new Date('2026-11-26T02:14:09.123Z'))).toBe('2026-11-26 02:14:09 UTC');
  expect([3_400, 240_000, 7_200_000, 432_000_000].map(spanOf)).toEqual(['3 s', '4 min', '2 h', '5 d']);
});
