// Forgeries of records, of reads of them, and of their events.
import type { Changes, Forgeries } from './forger.ts';
import { answerOf, cutOffA3, drop, eventOf, renamed, statement } from './story.ts';

export const forgedRecords: Forgeries = {
  overwritten: {
    'a push that was answered 504 replaces, late, what a later one was acknowledged for': (forger) => {
      forger.updated('unknown', 'suppliers', 'p-s-1', ['name']);
      renamed(forger, 'p-s-1', 'a2/0');
    },
    'a push that was hung up replaces, late, what a later one of another caller was acknowledged for': (
      forger,
    ) => renamed(forger, 'h-s-1', 'd1/0'),
  },
  lost: {
    'an acknowledged record is not listed': ({ ledger }) =>
      drop(ledger.listed, ({ plural }) => plural === 'batches'),
  },
  stale: {
    'a read shows what had been replaced before it began': (forger) =>
      forger.read('suppliers', 'p-s-1', 'a1/0', 4_000),
    'a read goes back behind a push that was cut off and had been seen': (forger) => {
      forger.read('suppliers', 'h-s-1', 'd1/0', 2_000);
      forger.read('suppliers', 'h-s-1', 'b1/0', 3_000);
    },
  },
  invented: {
    'a read shows what no caller pushed': (forger) => forger.read('suppliers', 'p-s-1', 'z9/0', 4_000),
    'a read shows a push that has not begun': (forger) => forger.read('suppliers', 'h-s-1', 'c1/0', 3_000),
    'a record is listed that no caller pushed': (forger) => forger.keep('suppliers', 'p-s-9', { name: 'x' }),
  },
  fields: {
    'a private record keeps another field than was pushed': ({ ledger }) =>
      ledger.stored.splice(0, 1, { ...ledger.stored[0]!, fields: { name: 'a3/0', code: 'Y' } }),
    'a hot record is a mixture of two pushes': ({ ledger }) =>
      ledger.stored.splice(1, 1, { ...ledger.stored[1]!, fields: { name: 'c1/0', code: 'Y' } }),
  },
  'internal-id': {
    'a record gets another internal id': (forger) =>
      (answerOf(forger, 'a3').records[0]!.internalId = 'sup_other'),
  },
  'created-twice': {
    'a record is created twice': (forger) => {
      const answer = answerOf(forger, 'c1');
      answer.records[0]!.status = 'CREATED';
      [answer.created, answer.updated] = [1, 0];
    },
    'a record is announced as created twice': (forger) => forger.created('c1', 'suppliers', 'h-s-1'),
  },
  total: {
    'a listing counts one too many': ({ ledger }) => {
      for (const line of ledger.listed) if (line.plural === 'suppliers') line.total = 4;
    },
  },
  pages: {
    'two pages show the same record': ({ ledger }) => ledger.listed.push(ledger.listed[0]!),
  },
  poll: {
    'a poll leaves out what was acknowledged before it began': ({ ledger }) => {
      for (const page of ledger.pages) if (page.plural === 'products') page.entities = [];
    },
    'a poll shows an old value only': (forger) => {
      forger.read('suppliers', 'p-s-1', 'a1/0', 1_052, 1);
      for (const page of forger.ledger.pages.filter(({ poll }) => poll === 9)) {
        page.entities = page.entities.filter(([externalId]) => externalId !== 'p-s-1');
      }
    },
  },
  time: {
    'lastSyncedAt is older than the push': ({ ledger }) =>
      (ledger.listed[0]!.entities = ledger.listed[0]!.entities.map((one) => [
        one[0],
        one[1],
        one[2],
        '2026-03-01T00:00:00.000Z',
      ])),
  },
  'event-missing': {
    'a creation is not announced': ({ ledger }) => drop(ledger.events, ({ id }) => id.includes('a1-created')),
    'a change of a hot record is not announced': ({ ledger }) =>
      drop(ledger.events, ({ id }) => id.includes('c1-updated')),
    'what a push that was cut off did is not announced': (forger) => {
      cutOffA3(forger);
    },
  },
  'event-extra': {
    'a change is announced that was not made': (forger) =>
      forger.updated('unknown', 'suppliers', 'p-s-1', ['code']),
    'a record is announced that no caller pushed': (forger) =>
      forger.created('unknown', 'suppliers', 'p-s-9'),
    'a hot record has an event of a run that no caller began': (forger) => {
      drop(forger.ledger.begun, ({ push }) => push === 'd1');
      forger.updated('unknown', 'suppliers', 'h-s-1', ['name']);
    },
  },
  'event-twice': {
    'an event stands twice on the stream': ({ ledger }) => ledger.events.push(ledger.events[0]!),
  },
  'event-wrong': {
    'an event names other fields': (forger) =>
      ((eventOf(forger, 'a3-updated').body.data as { changedFields: string[] }).changedFields = [
        'name',
        'code',
      ]),
  },
};

export const permittedRecords: Changes = {
  'a later push has filled in what a statement lacked': ({ ledger }) =>
    (ledger.drafts[0]!.entry = { ...statement, hsCode: '4407', missing: ['geolocation'] }),
  'a push that was answered 504 took effect before the next one began': (forger) =>
    forger.updated('unknown', 'suppliers', 'p-s-1', ['name']),
  'a push that was hung up is seen until it is replaced': (forger) =>
    forger.read('suppliers', 'h-s-1', 'd1/0', 2_000),
  'of two pushes at the same time either is seen': (forger) => {
    forger.read('suppliers', 'h-s-1', 'b2/0', 7_000);
    forger.read('suppliers', 'h-s-1', 'c1/0', 8_000);
  },
  'a connection breaks while a gateway is struck': (forger) => {
    forger.ledger.ended[1]!.outcome = 'broken';
    forger.strike('gateway', 1_000);
  },
  'more may still come of a push that was cut off': (forger) => {
    cutOffA3(forger);
    drop(forger.ledger.asks, ({ answer }) => /"ids":.*a3/.test(JSON.stringify(answer ?? '')));
    forger.ledger.pending.push({ syncId: 'sync_x', hashes: ['of-p-s-1'] });
  },
  'a receiver that failed had an event given up': ({ ledger }) => {
    ledger.endpoints[0]!.behaviour = 'flaky';
    const [first] = ledger.deliveries.splice(0, 1);
    ledger.givenUp.push({ endpoint: 'wh_1', event: first!.event });
  },
};
