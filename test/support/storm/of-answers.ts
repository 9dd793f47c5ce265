// Forgeries of answers, runs, statements and deliveries.
import type { EventBody } from '@integration-sync/contracts';
import { answerOf, drop, eventOf, item, statement } from './story.ts';
import { integration, type Forgeries } from './forger.ts';

export const forgedAnswers: Forgeries = {
  answer: {
    'an answer counts wrongly': (forger) => (answerOf(forger, 'a1').created = 2),
    'an answer leaves an item out': (forger) => answerOf(forger, 'e1').records.pop(),
    'an answer gives another reason': (forger) => (answerOf(forger, 'a3').errors[0]!.error = 'no'),
    'a right item is refused': ({ ledger }) => (ledger.begun[2]!.wrong = []),
  },
  status: {
    'a push is answered 500': ({ ledger }) => (ledger.ended[1]!.outcome = 500),
    'a connection breaks while no gateway was struck': ({ ledger }) => (ledger.ended[1]!.outcome = 'broken'),
    'a connection breaks while another gateway was struck': (forger) => {
      forger.ledger.ended[1]!.outcome = 'broken';
      forger.strike('gateway-2', 1_000);
    },
    'a connection is refused though the gateway had answered since it was struck': (forger) => {
      forger.strike('gateway', 5);
      forger.ledger.ended[1]!.outcome = 'refused';
    },
    'a push is never answered': ({ ledger }) => (ledger.ended[1]!.outcome = 'silent'),
    'a 503 does not say when to come back': ({ ledger }) => (ledger.ended[1]!.outcome = 503),
  },
  reference: {
    'a reference to what is not there is accepted': ({ ledger }) =>
      (ledger.begun.find(({ push }) => push === 'e1')!.items = [
        item('p-p-1', 'e1/0', { supplierExternalId: 'none' }),
        item('p-p-2', 'e1/1', { supplierExternalId: 'no' }),
      ]),
    'a reference to what is there is refused': ({ ledger }) =>
      (ledger.begun.find(({ push }) => push === 'e1')!.items = [
        item('p-p-1', 'e1/0', { supplierExternalId: 'p-s-1' }),
        item('p-p-2', 'e1/1', { supplierExternalId: 'h-s-1' }),
      ]),
  },
  draft: {
    'a statement is drafted twice': ({ ledger }) =>
      ledger.drafts.push({ ...ledger.drafts[0]!, entry: { ...statement, ddsId: 'dds_2' } }),
    'a statement is not there': ({ ledger }) => ledger.drafts.pop(),
    'a statement is not announced': ({ ledger }) => drop(ledger.events, ({ id }) => id.includes('drafted')),
    'a statement has another quantity than its batch': ({ ledger }) =>
      (ledger.drafts[0]!.entry = { ...statement, quantity: 6 }),
    'a statement has a number that no push gave': ({ ledger }) =>
      (ledger.drafts[0]!.entry = { ...statement, verificationNumber: 'V7' }),
    'a statement no longer misses what is unknown': ({ ledger }) =>
      (ledger.drafts[0]!.entry = { ...statement, missing: ['geolocation'] }),
  },
  run: {
    'a run is missing': ({ ledger }) => ledger.runs.shift(),
    'a run is listed twice': ({ ledger }) => ledger.runs.push(ledger.runs[0]!),
    'a run counts something else': ({ ledger }) => (ledger.runs[0]!.run.failed = 1),
    'there are more runs than pushes': ({ ledger }) => {
      for (const syncId of ['sync_x', 'sync_y', 'sync_z'])
        ledger.runs.push({ integration, run: { ...ledger.runs[0]!.run, syncId } });
    },
    'a run is shown as running after its answer': ({ ledger }) =>
      ledger.runsRead.push({
        integration,
        begunMs: 50_000,
        runs: [{ ...ledger.runs[0]!.run, state: 'running' }],
      }),
    'a run of a push that was cut off stays open': ({ ledger }) =>
      ledger.runs.push({ integration, run: { ...ledger.runs[0]!.run, syncId: 'sync_x', state: 'running' } }),
  },
  completed: {
    'a completion is not announced': ({ ledger }) =>
      drop(ledger.events, ({ id }) => id.includes('b1-completed')),
    'a completion counts something else': (forger) =>
      ((eventOf(forger, 'b1-completed').body.data as { created: number }).created = 2),
  },
  'delivery-missing': {
    'a delivery never comes': ({ ledger }) => ledger.deliveries.shift(),
    'a delivery was only ever refused': ({ ledger }) => (ledger.deliveries[0]!.status = 500),
  },
  'delivery-false': {
    'a delivery has a wrong signature': ({ ledger }) => (ledger.deliveries[0]!.genuine = false),
    'a delivery has another body': ({ ledger }) => (ledger.deliveries[0]!.bodyHash = 'x'),
    'a delivery is of no event': ({ ledger }) =>
      ledger.deliveries.push({ ...ledger.deliveries[0]!, event: 'sync_x-completed' }),
  },
  undescribed: {
    'an event lacks what its description wants': ({ ledger }) =>
      delete (ledger.events[0]!.body as Partial<EventBody>).timestamp,
    'a delivery lacks a header of its description': ({ ledger }) =>
      (ledger.deliveries[0]!.undescribed = 'SupplierCreatedDelivery, headers'),
  },
  memory: {
    'a service grows': ({ ledger }) => ledger.memory.push({ service: 'catalog', pid: 1, atMs: 1, mb: 513 }),
  },
  storm: {
    'the storm itself fails': ({ ledger }) => ledger.notes.push({ atMs: 0, note: 'it rains' }),
  },
};
