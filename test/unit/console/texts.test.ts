// What the console computes from what it is told: no browser takes part.
import { describe, expect, it } from 'vitest';
import { Problem, problemOf } from '../../../console/src/api/problem.ts';
import { curlOf, get, page, post, remove } from '../../../console/src/api/request.ts';
import type { DeliveryAttempt, Webhook } from '../../../console/src/api/shapes.ts';
import { leadOf, runOf, timeBefore, timeIn } from '../../../console/src/text/box.ts';
import { counted } from '../../../console/src/text/count.ts';
import { csvOf } from '../../../console/src/text/csv.ts';
import { sentenceOfOverdue } from '../../../console/src/text/expected.ts';
import { isOfThisMachine } from '../../../console/src/here.ts';
import { isNowhere } from '../../../console/src/text/nowhere.ts';
import { entitiesIn, withPage, type Pages } from '../../../console/src/text/pages.ts';
import { placeOf } from '../../../console/src/text/place.ts';
import { groupByReason } from '../../../console/src/text/reasons.ts';
import { sentenceOf } from '../../../console/src/text/state.ts';
import { instantOf, isInstant, shortTime, spanOf, utcOf } from '../../../console/src/text/time.ts';
import { endOf, replayableIn, undeliveredIn } from '../../../console/src/text/undelivered.ts';

const run = `sync_01a217635ae6${'0'.repeat(20)}`;

describe('the search box of the console', () => {
  it.each([
    [run, { kind: 'run', id: run }],
    [` ${run} `, { kind: 'run', id: run }],
    [`${run}-created-0`, { kind: 'event', id: `${run}-created-0` }],
    [`wh_${'a'.repeat(32)}`, { kind: 'webhook', id: `wh_${'a'.repeat(32)}` }],
    [`wh_${'a'.repeat(32)}-disabled-1`, { kind: 'event', id: `wh_${'a'.repeat(32)}-disabled-1` }],
    [`exp_${'a'.repeat(32)}-overdue-1`, { kind: 'event', id: `exp_${'a'.repeat(32)}-overdue-1` }],
    ['SUP-001', { kind: 'record', id: 'SUP-001' }],
    ['..', { kind: 'record', id: '..' }],
    [' a/b ', { kind: 'record', id: ' a/b ' }],
    ['sync_1', { kind: 'record', id: 'sync_1' }],
    ['  ', undefined],
  ])('leads from %j to %j', (text, lead) => {
    expect(leadOf(text)).toEqual(lead);
  });

  it('finds the run of an event, and its time, by the id of the event', () => {
    expect(runOf(`${run}-created-0`)).toBe(run);
    expect(new Date(timeIn(`${run}-created-0`) ?? 0).getUTCFullYear()).toBe(2026);
    expect(runOf('wh_1')).toBeUndefined();
    expect(timeIn('SUP-001')).toBeUndefined();
  });
});

it.each([
  [null, 5_000],
  ['2', 2_000],
  ['0', 5_000],
  ['', 5_000],
  ['Mon, 30 Nov 2026 08:00:00 GMT', 5_000],
  ['3000000', 600_000],
])('the console waits after Retry-After %j for %d ms', (header, waitMs) => {
  expect(problemOf(503, undefined, header).retryAfterMs).toBe(waitMs);
});

describe('an overdue push', () => {
  const expected = {
    everyHours: 26,
    lastPushAt: '2026-03-30T00:00:00.000Z',
    dueAt: '2026-03-31T02:00:00.000Z',
  };
  const now = Date.parse('2026-03-31T07:00:00.000Z');

  it.each([
    [expected, 'products: nothing for 31 h, expected every 26 h'],
    // Since the expectation was set, where no push is known.
    [{ ...expected, lastPushAt: null }, 'products: nothing for 31 h, expected every 26 h'],
  ])('of %j has the expected sentence in the console', (one, sentence) => {
    expect(sentenceOfOverdue('products', { ...one, isOverdue: true }, now)).toBe(sentence);
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
  ])('stores %j as text and not as a formula', (cell, written) => {
    expect(csvOf([[cell]])).toBe(`${written}\r\n`);
  });

  it('leaves numbers unchanged', () => {
    expect(csvOf([[-1, 'x']])).toBe('-1,x\r\n');
  });
});

it('the console groups errors by their reason without quoted values, the largest group first', () => {
  const errors = ['a "x"', 'b', 'a "y \\" z"', 'a ""'].map((error, index) => ({ error, index }));
  expect(groupByReason(errors).map(({ reason, errors: group }) => [reason, group.length])).toEqual([
    ['a “…”', 3],
    ['b', 1],
  ]);
  const named = groupByReason(['1', '2'].map((got) => ({ error: `"LAND_KZ" (country): got "${got}"` })));
  expect(named.map(({ reason }) => reason)).toEqual(['"LAND_KZ" (country): got “…”']);
});

describe('the curl command that the console shows', () => {
  const base = 'https://example.com/sync/console';

  it('sends the same request as the page, with the prefix of a proxy and without the token', () => {
    expect(curlOf(get('/sync-runs', { failed: true, cursor: undefined, entityType: '' }), base)).toBe(
      `curl -s 'https://example.com/sync/api/v1/integration/sync-runs?failed=true' \\\n  -H "Authorization: Bearer $KEY"`,
    );
    expect(curlOf(page('token'), base)).toContain("'https://example.com/sync/token'");
    expect(curlOf(remove('/webhook-events/wh_1'), base)).toContain('-X DELETE');
  });

  it('has no text that a shell would expand', () => {
    const command = curlOf(post('/suppliers', { name: "it's $(rm) `x`" }), base);
    expect(command).toContain(String.raw`-d '{"name":"it'\''s $(rm) ` + '`x`' + String.raw`"}'`);
  });
});

describe('the sentence of the console about a webhook', () => {
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
  ])('has the state of the webhook (case %#)', (of, attempt, sentence) => {
    expect(sentenceOf(of, attempt, now)).toBe(sentence);
  });
});

it('the console shows times of today without the day, beside UTC', () => {
  const at = new Date(2026, 10, 26, 2, 14, 9);
  expect(shortTime(at, new Date(2026, 10, 26, 23))).toBe('02:14:09');
  expect(shortTime(at, new Date(2026, 10, 27))).toBe('26 Nov 02:14:09');
  expect(shortTime(at, new Date(2027, 0, 1))).toBe('26 Nov 2026 02:14:09');
  expect(utcOf(new Date('2026-11-26T02:14:09.123Z'))).toBe('2026-11-26 02:14:09 UTC');
  expect([3_400, 240_000, 7_200_000, 432_000_000].map(spanOf)).toEqual(['3 s', '4 min', '2 h', '5 d']);
});

it('the console reads a time in each form that it prints, and leaves other texts unchanged', () => {
  const now = new Date(2026, 10, 26, 23);
  const at = new Date(2026, 10, 26, 2, 14, 9);
  const other = new Date(2026, 9, 3, 2, 14, 9);
  const old = new Date(2024, 1, 29, 2, 14, 9);
  const instant = (text: string): string => instantOf(text, now);
  expect(instant(shortTime(at, now))).toBe(at.toISOString());
  expect(instant(shortTime(other, now))).toBe(other.toISOString());
  expect(instant(shortTime(old, now))).toBe(old.toISOString());
  expect(instant(utcOf(at))).toBe(at.toISOString().replace('.000', ''));
  // As the page prints both beside each other.
  expect(instant(` ${shortTime(other, now)} · ${utcOf(other)}`)).toBe(
    other.toISOString().replace('.000', ''),
  );
  // How browsers shorten September.
  expect(instant('3 Sept 02:14:09')).toBe(new Date(2026, 8, 3, 2, 14, 9).toISOString());
  expect(instant('31 Dec 02:14:09')).toBe(new Date(2025, 11, 31, 2, 14, 9).toISOString());
  // After midnight, a time of the evening is of the day before.
  const night = new Date(2026, 10, 26, 0, 10);
  expect(instantOf('23:50:00', night)).toBe(new Date(2026, 10, 25, 23, 50).toISOString());
  expect(instantOf('00:05', night)).toBe(new Date(2026, 10, 26, 0, 5).toISOString());
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

const replayable = (failed: DeliveryAttempt[]) =>
  replayableIn(undeliveredIn(logPage(failed), logPage([])), undefined);

describe('the list of undelivered events of a webhook', () => {
  it('has the newest attempt of each event that failed and never succeeded, and no test', () => {
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

  it('has no failure from before the oldest success that was read', () => {
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
  ])('shows the next step of an attempt in the table (case %#)', (one, words) => {
    expect(endOf(one)).toBe(words);
  });

  it('is replayed from the time of the oldest event’s push, which is before the first attempt', () => {
    const given = [attemptOf(idOf(4, 'created-0'), 9), attemptOf(idOf(3, 'created-0'), 8)];
    expect(replayable(given)).toEqual({
      since: '2026-11-26T02:02:59.999Z',
      count: 2,
      undated: 0,
      from: undefined,
    });
    expect(timeBefore([])).toBeUndefined();
  });

  it('counts events without a push separately, as their time is unknown', () => {
    const own = attemptOf('wh_1-disabled-1', 1);
    expect(replayable([own])).toMatchObject({ since: undefined, count: 0, undated: 1 });
    expect(replayable([attemptOf(idOf(4, 'created-0'), 9), own])).toMatchObject({
      since: '2026-11-26T02:03:59.999Z',
      count: 1,
      undated: 1,
    });
  });

  it('is replayed from the push of an event that was given up, also before the oldest success that was read', () => {
    const old = attemptOf(idOf(2, 'created-0'), 3);
    const waited = attemptOf(idOf(1, 'created-0'), 2, { attempt: 2 });
    const delivered = attemptOf(idOf(1, 'created-1'), 4);
    const successes = [succeeded('x', 9), succeeded(delivered.eventId, 8)];
    const found = undeliveredIn(logPage([delivered, old, waited]), logPage(successes, true));
    expect(found.attempts).toEqual([]);
    expect(found.givenUp).toEqual([old]);
    expect(replayableIn(found, undefined)).toEqual({
      since: '2026-11-26T02:01:59.999Z',
      count: 1,
      undated: 0,
      from: at(8),
    });
  });

  it('is unknown where the attempt log is answered 503, and empty where it is answered 403', () => {
    const found = undeliveredIn(logPage([attemptOf(idOf(4, 'created-0'), 9)]), logPage([]));
    const [passes, stays] = [new Problem(503, 'busy'), new Problem(403, 'refused')];
    expect(replayableIn(undefined, undefined)).toBeUndefined();
    expect(replayableIn(undefined, passes)).toBeUndefined();
    expect(replayableIn(undefined, stays)).toMatchObject({ since: undefined, count: 0 });
    for (const problem of [undefined, passes, stays])
      expect(replayableIn(found, problem)).toMatchObject({ count: 1 });
  });
});

describe('pages of a listing in the console', () => {
  type Entity = { id: string; state?: string };
  const pageOf = (entities: Entity[], total: number) => ({ entities, total, page: 1, limit: 2 });
  const read = (...pages: [number: number, entities: Entity[], total: number][]): Pages<Entity> => {
    let all: Pages<Entity> = new Map();
    for (const [number, entities, total] of pages) all = withPage(all, number, pageOf(entities, total));
    return all;
  };
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => ({ id })) as [Entity, Entity, Entity, Entity];

  it('are one list in order, whichever page was read last', () => {
    const pages = read([1, [a, b], 4], [2, [c, d], 4]);
    expect(entitiesIn(pages)).toEqual([a, b, c, d]);
    expect(entitiesIn(withPage(pages, 1, pageOf([b, a], 4)))).toEqual([b, a, c, d]);
  });

  it('have each entity once, from the page that was read last', () => {
    const newer = { ...b, state: 'failing' };
    expect(entitiesIn(read([1, [a, b], 4], [2, [newer, c], 4]))).toEqual([a, newer, c]);
    expect(entitiesIn(read([2, [b, c], 4], [1, [a, newer], 4]))).toEqual([a, newer, c]);
    expect(entitiesIn(read([1, [a, b], 4], [2, [b, c], 4], [1, [a, newer], 4]))).toEqual([a, newer, c]);
  });

  it('are dropped when the total changes, so that no entity between them is missing', () => {
    expect(entitiesIn(read([1, [a, b], 4], [2, [d], 3]))).toEqual([d]);
    // A page behind the last one is none.
    expect(read([1, [a, b], 3], [2, [], 2]).size).toBe(0);
    expect(read([1, [], 0]).size).toBe(1);
  });
});

it.each([
  [[], false],
  [[{ isOff: true, count: undefined }], false],
  [[{ isOff: false, count: undefined }], false],
  [
    [
      { isOff: false, count: 0 },
      { isOff: true, count: undefined },
    ],
    true,
  ],
  [
    [
      { isOff: false, count: 0 },
      { isOff: false, count: undefined },
    ],
    false,
  ],
  [
    [
      { isOff: false, count: 0 },
      { isOff: false, count: 1 },
    ],
    false,
  ],
])(
  'the console reports a missing record only where no kind that the token may list has the record (case %#)',
  (kinds, is) => {
    expect(isNowhere(kinds)).toBe(is);
  },
);

it('the console writes a count of one in the singular, and numbers items from 1', () => {
  expect([0, 1, 2_000].map((count) => counted(count, 'push', 'pushes'))).toEqual([
    '0 pushes',
    '1 push',
    '2,000 pushes',
  ]);
  expect(placeOf(2)).toBe('3 (index 2)');
});

it('the console recognises by the address that a page is on this machine', () => {
  expect(['localhost', '127.0.0.1', '127.1.2.3', '[::1]'].map(isOfThisMachine)).toEqual(
    Array.from({ length: 4 }, () => true),
  );
  expect(
    ['example.com', '127.0.0.1.example.com', '10.0.0.1', 'localhost.example.com'].filter(isOfThisMachine),
  ).toEqual([]);
});
