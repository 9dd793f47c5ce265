// Forgeries of answers, runs, statements and deliveries.
import type { EventBody } from '@integration-sync/contracts';
import type { Forgery } from './forgery.ts';
import { answerOf, drop, eventOf, item, statement } from './story.ts';
import { integration } from './forger.ts';

export const forgedAnswers: readonly Forgery[] = [
  ['an answer counts wrongly', 'answer', (forger) => (answerOf(forger, 'a1').created = 2)],
  ['an answer leaves an item out', 'answer', (forger) => answerOf(forger, 'e1').records.pop()],
  ['an answer gives another reason', 'answer', (forger) => (answerOf(forger, 'a3').errors[0]!.error = 'no')],
  ['a right item is refused', 'answer', ({ ledger }) => (ledger.begun[2]!.wrong = [])],
  ['a push is answered 500', 'status', ({ ledger }) => (ledger.ended[1]!.outcome = 500)],
  [
    'a connection breaks while no gateway was struck',
    'status',
    ({ ledger }) => (ledger.ended[1]!.outcome = 'broken'),
  ],
  [
    'a connection breaks while another gateway was struck',
    'status',
    ({ ledger }) => {
      ledger.ended[1]!.outcome = 'broken';
      ledger.faults.push({ target: 'gateway-2', kind: 'kill', pid: 1, atMs: 1_000, untilMs: 1_000 });
    },
  ],
  [
    'a connection is refused though the gateway had answered since it was struck',
    'status',
    ({ ledger }) => {
      ledger.faults.push({ target: 'gateway', kind: 'kill', pid: 1, atMs: 5, untilMs: 5 });
      ledger.ended[1]!.outcome = 'refused';
    },
  ],
  ['a push is never answered', 'status', ({ ledger }) => (ledger.ended[1]!.outcome = 'silent')],
  ['a 503 does not say when to come back', 'status', ({ ledger }) => (ledger.ended[1]!.outcome = 503)],
  [
    'a reference to what is not there is accepted',
    'reference',
    ({ ledger }) =>
      (ledger.begun.find(({ push }) => push === 'e1')!.items = [
        item('p-p-1', 'e1/0', { supplierExternalId: 'none' }),
        item('p-p-2', 'e1/1', { supplierExternalId: 'no' }),
      ]),
  ],
  [
    'a reference to what is there is refused',
    'reference',
    ({ ledger }) =>
      (ledger.begun.find(({ push }) => push === 'e1')!.items = [
        item('p-p-1', 'e1/0', { supplierExternalId: 'p-s-1' }),
        item('p-p-2', 'e1/1', { supplierExternalId: 'h-s-1' }),
      ]),
  ],
  [
    'a statement is drafted twice',
    'draft',
    ({ ledger }) => ledger.drafts.push({ ...ledger.drafts[0]!, entry: { ...statement, ddsId: 'dds_2' } }),
  ],
  ['a statement is not there', 'draft', ({ ledger }) => ledger.drafts.pop()],
  [
    'a statement is not announced',
    'draft',
    ({ ledger }) => drop(ledger.events, ({ id }) => id.includes('drafted')),
  ],
  [
    'a statement has another quantity than its batch',
    'draft',
    (forger) => {
      forger.ledger.drafts[0]!.entry = { ...statement, quantity: 6 };
    },
  ],
  [
    'a statement has a number that no push gave',
    'draft',
    (forger) => {
      forger.ledger.drafts[0]!.entry = { ...statement, verificationNumber: 'V7' };
    },
  ],
  [
    'a statement no longer misses what is unknown',
    'draft',
    (forger) => {
      forger.ledger.drafts[0]!.entry = { ...statement, missing: ['geolocation'] };
    },
  ],
  ['a run is missing', 'run', ({ ledger }) => ledger.runs.shift()],
  ['a run is listed twice', 'run', ({ ledger }) => ledger.runs.push(ledger.runs[0]!)],
  ['a run counts something else', 'run', ({ ledger }) => (ledger.runs[0]!.run.failed = 1)],
  [
    'there are more runs than pushes',
    'run',
    ({ ledger }) => {
      for (const syncId of ['sync_x', 'sync_y', 'sync_z'])
        ledger.runs.push({ integration, run: { ...ledger.runs[0]!.run, syncId } });
    },
  ],
  [
    'a run is shown as running after its answer',
    'run',
    ({ ledger }) =>
      ledger.runsRead.push({
        integration,
        begunMs: 50_000,
        runs: [{ ...ledger.runs[0]!.run, state: 'running' }],
      }),
  ],
  [
    'a run of a push that was cut off stays open',
    'run',
    ({ ledger }) =>
      ledger.runs.push({ integration, run: { ...ledger.runs[0]!.run, syncId: 'sync_x', state: 'running' } }),
  ],
  [
    'a completion is not announced',
    'completed',
    ({ ledger }) => drop(ledger.events, ({ id }) => id.includes('b1-completed')),
  ],
  [
    'a completion counts something else',
    'completed',
    (forger) => {
      (eventOf(forger, 'b1-completed').body.data as { created: number }).created = 2;
    },
  ],
  ['a delivery never comes', 'delivery-missing', ({ ledger }) => ledger.deliveries.shift()],
  [
    'a delivery was only ever refused',
    'delivery-missing',
    ({ ledger }) => (ledger.deliveries[0]!.status = 500),
  ],
  [
    'a delivery has a wrong signature',
    'delivery-false',
    ({ ledger }) => (ledger.deliveries[0]!.genuine = false),
  ],
  [
    'an event lacks what its description wants',
    'undescribed',
    ({ ledger }) => delete (ledger.events[0]!.body as Partial<EventBody>).timestamp,
  ],
  [
    'a delivery lacks a header of its description',
    'undescribed',
    ({ ledger }) => (ledger.deliveries[0]!.undescribed = 'SupplierCreatedDelivery, headers'),
  ],
  ['a delivery has another body', 'delivery-false', ({ ledger }) => (ledger.deliveries[0]!.bodyHash = 'x')],
  [
    'a delivery is of no event',
    'delivery-false',
    ({ ledger }) => ledger.deliveries.push({ ...ledger.deliveries[0]!, event: 'sync_x-completed' }),
  ],
  [
    'a service grows',
    'memory',
    ({ ledger }) => ledger.memory.push({ service: 'catalog', pid: 1, atMs: 1, mb: 513 }),
  ],
  ['the storm itself fails', 'storm', ({ ledger }) => ledger.notes.push({ atMs: 0, note: 'it rains' })],
];
