// What the console computes from what it is told: no browser takes part.
import { describe, expect, it } from 'vitest';
import { curlOf, get, page, post, remove } from '../../../console/src/api/request.ts';
import type { DeliveryAttempt, Webhook } from '../../../console/src/api/shapes.ts';
import { leadOf, runOf, timeIn } from '../../../console/src/text/box.ts';
import { counted } from '../../../console/src/text/count.ts';
import { csvOf } from '../../../console/src/text/csv.ts';
import { isOfThisMachine } from '../../../console/src/text/here.ts';
import { placeOf } from '../../../console/src/text/place.ts';
import { groupByReason } from '../../../console/src/text/reasons.ts';
import { sentenceOf } from '../../../console/src/text/state.ts';
import { instantOf, isInstant, shortTime, spanOf, utcOf } from '../../../console/src/text/time.ts';
import { endOf, startOf, undeliveredIn } from '../../../console/src/text/undelivered.ts';

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
    [
      { ...webhook, consecutiveFailures: 1 },
      last,
      'Failing: 1 failure in a row, the last a 503. Disabled after 10 failures in a row; 9 to go.',
    ],
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

it('takes a time in each form that it prints, as the interface takes it, and leaves other texts to the interface', () => {
  const now = new Date(2026, 10, 26, 23);
  const at = new Date(2026, 10, 26, 2, 14, 9);
  const other = new Date(2026, 9, 3, 2, 14, 9);
  const instant = (text: string): string => instantOf(text, now);
  expect(instant(shortTime(at, now))).toBe(at.toISOString());
  expect(instant(shortTime(other, now))).toBe(other.toISOString());
  expect(instant(utcOf(at))).toBe(at.toISOString().replace('.000', ''));
  // As the page prints both beside each other.
  expect(instant(` ${shortTime(other, now)} · ${utcOf(other)}`)).toBe(
    other.toISOString().replace('.000', ''),
  );
  // How browsers shorten September.
  expect(instant('3 Sept 02:14:09')).toBe(new Date(2026, 8, 3, 2, 14, 9).toISOString());
  expect(instant('31 Dec 02:14:09')).toBe(new Date(2025, 11, 31, 2, 14, 9).toISOString());
  for (const text of ['2026-11-26', '2026-11-26T02:14:09.123Z', '2026-11-26T02:14:09+01:00']) {
    expect(instant(text)).toBe(text);
    expect(isInstant(text)).toBe(true);
  }
  for (const text of ['', 'yesterday', '3 Foo 02:14:09', '31 Feb 02:14:09', '2026-11-26 02:14', '25:14:09'])
    expect({ text, is: isInstant(instant(text)) }).toEqual({ text, is: false });
});

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 26, 2, minute)).toISOString();
const logPage = (attempts: DeliveryAttempt[], isCut = false) => ({ attempts, isCut });
const namesOf = ({ attempts }: { attempts: DeliveryAttempt[] }): string[] =>
  attempts.map(({ eventId, attempt }) => `${eventId} ${attempt}`);

const attemptOf = (
  eventId: string,
  minute: number,
  more: Partial<DeliveryAttempt> = {},
): DeliveryAttempt => ({
  eventId,
  event: 'supplier.created',
  attempt: 4,
  at: at(minute),
  outcome: 'failed',
  responseStatus: 503,
  durationMs: 1,
  error: null,
  nextAttemptAt: null,
  ...more,
});
const idOf = (minute: number, name: string): string =>
  `sync_${Date.parse(at(minute)).toString(16).padStart(12, '0')}${'0'.repeat(20)}-${name}`;
const succeeded = (eventId: string, minute: number): DeliveryAttempt =>
  attemptOf(eventId, minute, { outcome: 'succeeded' });

describe('what a webhook never got', () => {
  it('is the newest attempt of each event that failed and never succeeded, and no test', () => {
    const failed = [
      attemptOf('c', 9, { attempt: 2 }),
      attemptOf('t', 8, { event: 'webhook.test', attempt: 1 }),
      attemptOf('b', 7),
      attemptOf('a', 6),
      attemptOf('a', 5, { attempt: 3 }),
    ];
    const found = undeliveredIn(logPage(failed), logPage([succeeded('b', 8)]));
    expect(namesOf(found)).toEqual(['c 2', 'a 4']);
    expect(found.from).toBeUndefined();
  });

  it('is told of no time before which a page of the log does not reach', () => {
    const failed = [attemptOf('b', 7), attemptOf('a', 3)];
    const found = undeliveredIn(logPage(failed), logPage([succeeded('x', 8), succeeded('y', 5)], true));
    expect(namesOf(found)).toEqual(['b 4']);
    expect(found.from).toBe(at(5));
  });

  it.each([
    [attemptOf('a', 1), 'given up'],
    [attemptOf('a', 1, { attempt: 2 }), 'none: disabled'],
    [attemptOf('a', 1, { event: 'webhook.test', attempt: 1 }), ''],
    [succeeded('a', 1), ''],
  ])('%# says in the table what comes next', (one, words) => {
    expect(endOf(one)).toBe(words);
  });

  it('is replayed from before its push, as the time of an event is before its first attempt', () => {
    const given = [attemptOf(idOf(4, 'created-0'), 9), attemptOf(idOf(3, 'created-0'), 8)];
    expect(startOf(given)).toBe('2026-11-26T02:02:59.999Z');
    expect(startOf([attemptOf('wh_1-disabled-1', 8)])).toBe('2026-11-26T02:07:59.999Z');
    expect(startOf([])).toBeUndefined();
  });
});

it('counts one thing as one, and items from 1 beside their index', () => {
  expect([0, 1, 2_000].map((count) => counted(count, 'push', 'pushes'))).toEqual([
    '0 pushes',
    '1 push',
    '2,000 pushes',
  ]);
  expect(placeOf(2)).toBe('3 (index 2)');
});

it('knows a page of this machine', () => {
  expect(['localhost', '127.0.0.1', '127.1.2.3', '[::1]'].map(isOfThisMachine)).toEqual(
    Array.from({ length: 4 }, () => true),
  );
  expect(
    ['example.com', '127.0.0.1.example.com', '10.0.0.1', 'localhost.example.com'].filter(isOfThisMachine),
  ).toEqual([]);
});
