// Forgeries of records, of reads of them, and of their events.
import type { Forgery } from './forgery.ts';
import { answerOf, drop, eventOf, renamed } from './story.ts';
import { syncOf } from './forger.ts';

export const forgedRecords: readonly Forgery[] = [
  [
    'a push that was answered 504 replaces, late, what a later one was acknowledged for',
    'overwritten',
    (forger) => {
      forger.updated('unknown', 'suppliers', 'p-s-1', ['name']);
      renamed(forger, 'p-s-1', 'a2/0');
    },
  ],
  [
    'a push that was hung up replaces, late, what a later one of another caller was acknowledged for',
    'overwritten',
    (forger) => renamed(forger, 'h-s-1', 'd1/0'),
  ],
  [
    'an acknowledged record is not listed',
    'lost',
    ({ ledger }) => drop(ledger.listed, ({ plural }) => plural === 'batches'),
  ],
  [
    'a read shows what had been replaced before it began',
    'stale',
    (forger) => forger.read('suppliers', 'p-s-1', 'a1/0', 4_000),
  ],
  [
    'a read goes back behind a push that was cut off and had been seen',
    'stale',
    (forger) => {
      forger.read('suppliers', 'h-s-1', 'd1/0', 2_000);
      forger.read('suppliers', 'h-s-1', 'b1/0', 3_000);
    },
  ],
  [
    'a read shows what no caller pushed',
    'invented',
    (forger) => forger.read('suppliers', 'p-s-1', 'z9/0', 4_000),
  ],
  [
    'a read shows a push that has not begun',
    'invented',
    (forger) => forger.read('suppliers', 'h-s-1', 'c1/0', 3_000),
  ],
  [
    'a record is listed that no caller pushed',
    'invented',
    (forger) => forger.keep('suppliers', 'p-s-9', { name: 'x' }),
  ],
  [
    'a private record keeps another field than was pushed',
    'fields',
    ({ ledger }) => ledger.stored.splice(0, 1, { ...ledger.stored[0]!, fields: { name: 'a3/0', code: 'Y' } }),
  ],
  [
    'a hot record is a mixture of two pushes',
    'fields',
    ({ ledger }) => ledger.stored.splice(1, 1, { ...ledger.stored[1]!, fields: { name: 'c1/0', code: 'Y' } }),
  ],
  [
    'a record gets another internal id',
    'internal-id',
    (forger) => (answerOf(forger, 'a3').records[0]!.internalId = 'sup_other'),
  ],
  [
    'a record is created twice',
    'created-twice',
    (forger) => {
      const answer = answerOf(forger, 'c1');
      answer.records[0]!.status = 'CREATED';
      [answer.created, answer.updated] = [1, 0];
    },
  ],
  [
    'a record is announced as created twice',
    'created-twice',
    (forger) => forger.created('c1', 'suppliers', 'h-s-1'),
  ],
  [
    'a listing counts one too many',
    'total',
    ({ ledger }) => {
      for (const line of ledger.listed) if (line.plural === 'suppliers') line.total = 4;
    },
  ],
  ['two pages show the same record', 'pages', ({ ledger }) => ledger.listed.push(ledger.listed[0]!)],
  [
    'a poll leaves out what was acknowledged before it began',
    'poll',
    ({ ledger }) => {
      for (const page of ledger.pages) if (page.plural === 'products') page.entities = [];
    },
  ],
  [
    'a poll shows an old value only',
    'poll',
    (forger) => {
      forger.read('suppliers', 'p-s-1', 'a1/0', 1_052, 1);
      for (const page of forger.ledger.pages.filter(({ poll }) => poll === 9)) {
        page.entities = page.entities.filter(([externalId]) => externalId !== 'p-s-1');
      }
    },
  ],
  [
    'lastSyncedAt is older than the push',
    'time',
    ({ ledger }) => {
      ledger.listed[0]!.entities = ledger.listed[0]!.entities.map((one) => [
        one[0],
        one[1],
        one[2],
        '2026-03-01T00:00:00.000Z',
      ]);
    },
  ],
  [
    'a creation is not announced',
    'event-missing',
    ({ ledger }) => drop(ledger.events, ({ id }) => id.includes('a1-created')),
  ],
  [
    'a change of a hot record is not announced',
    'event-missing',
    ({ ledger }) => drop(ledger.events, ({ id }) => id.includes('c1-updated')),
  ],
  [
    'what a push that was cut off did is not announced',
    'event-missing',
    (forger) => {
      drop(forger.ledger.begun, ({ push }) => push === 'a3');
      drop(forger.ledger.ended, ({ push }) => push === 'a3');
      drop(forger.ledger.runs, ({ run }) => run.syncId === syncOf('a3'));
      drop(forger.ledger.events, ({ id }) => id.includes('a3'));
      drop(forger.ledger.deliveries, ({ event }) => event.includes('a3'));
      renamed(forger, 'p-s-1', 'a2/0');
    },
  ],
  [
    'a change is announced that was not made',
    'event-extra',
    (forger) => forger.updated('unknown', 'suppliers', 'p-s-1', ['code']),
  ],
  [
    'a record is announced that no caller pushed',
    'event-extra',
    (forger) => forger.created('unknown', 'suppliers', 'p-s-9'),
  ],
  [
    'a hot record has an event of a run that no caller began',
    'event-extra',
    (forger) => {
      drop(forger.ledger.begun, ({ push }) => push === 'd1');
      forger.updated('unknown', 'suppliers', 'h-s-1', ['name']);
    },
  ],
  [
    'an event stands twice on the stream',
    'event-twice',
    ({ ledger }) => ledger.events.push(ledger.events[0]!),
  ],
  [
    'an event names other fields',
    'event-wrong',
    (forger) => {
      (eventOf(forger, 'a3-updated').body.data as { changedFields: string[] }).changedFields = [
        'name',
        'code',
      ];
    },
  ],
];
