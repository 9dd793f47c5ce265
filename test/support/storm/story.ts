// The story that forgeries change: a few pushes of each kind, in which every promise is kept.
import { dateOf, Forger, integration, syncOf } from './forger.ts';
import { addCustomers } from './of-customers.ts';

export const item = (externalId: string, name: string, fields: object = {}) => ({
  externalId,
  name,
  ...fields,
});
const batchItem = (externalId: string, batchNumber: string) => ({
  externalId,
  batchNumber,
  productExternalId: 'p-p-1',
  quantity: 5,
  unit: 'kg',
});
const missing = (noun: string, id: string, plural: string) =>
  `${noun} with externalId "${id}" not found. Sync ${plural} first.`;
export const statement = {
  ddsId: 'dds_1',
  batchExternalId: 'p-b-1',
  batchInternalId: 'bat_of-p-b-1',
  status: 'DRAFT' as const,
  hsCode: null,
  countryOfProduction: null,
  quantity: 5,
  unit: 'kg',
  referenceNumber: null,
  verificationNumber: null,
  missing: ['hsCode', 'geolocation'],
};

/**
 * A private supplier, which one caller alone pushes: created by a1, pushed in vain by a2 (504), changed by a3. A hot
 * one, which several callers push: created by b1; d1 (hung up) did nothing; changed by c1 and b2, which were under way
 * at the same time. A product that points at the private supplier beside one that points at nothing; and a batch with a
 * draft.
 */
export function forge(): Forger {
  const forger = new Forger();
  forger.push({
    name: 'a1',
    plural: 'suppliers',
    items: [item('p-s-1', 'a1/0', { code: 'X' })],
    said: ['CREATED'],
  });
  forger.created('a1', 'suppliers', 'p-s-1');
  forger.push({ name: 'a2', plural: 'suppliers', items: [item('p-s-1', 'a2/0')], outcome: 504 });
  const [right, wrong] = [item('p-s-1', 'a3/0'), item('p-s-2', ' ')];
  const refusal = 'Supplier name is required';
  forger.push({ name: 'a3', plural: 'suppliers', items: [right, wrong], said: ['UPDATED', refusal], wrong: [[1, refusal]] }); // oxfmt-ignore
  forger.updated('a3', 'suppliers', 'p-s-1', ['name']);
  forger.keep('suppliers', 'p-s-1', { name: 'a3/0', code: 'X' });

  forger.push({ name: 'b1', plural: 'suppliers', items: [item('h-s-1', 'b1/0')], said: ['CREATED'] });
  forger.created('b1', 'suppliers', 'h-s-1');
  forger.push({ name: 'd1', plural: 'suppliers', items: [item('h-s-1', 'd1/0')], outcome: 'hung-up' });
  const together = { begunMs: 5_000, endedMs: 6_000, said: ['UPDATED'] };
  forger.push({ name: 'c1', plural: 'suppliers', items: [item('h-s-1', 'c1/0')], ...together });
  forger.push({
    name: 'b2',
    plural: 'suppliers',
    items: [item('h-s-1', 'b2/0')],
    ...together,
    endedMs: 6_100,
  });
  forger.updated('c1', 'suppliers', 'h-s-1', ['name']);
  forger.updated('b2', 'suppliers', 'h-s-1', ['name']);
  forger.keep('suppliers', 'h-s-1', { name: 'c1/0' });

  const products = [
    item('p-p-1', 'e1/0', { supplierExternalId: 'p-s-1' }),
    item('p-p-2', 'e1/1', { supplierExternalId: 'no' }),
  ];
  forger.push({ name: 'e1', plural: 'products', items: products, said: ['CREATED', missing('Supplier', 'no', 'suppliers')] }); // oxfmt-ignore
  forger.created('e1', 'products', 'p-p-1');
  forger.keep('products', 'p-p-1', { name: 'e1/0', supplierExternalId: 'p-s-1' });

  forger.push({
    name: 'f1',
    plural: 'batches',
    items: [batchItem('p-b-1', 'f1/0')],
    said: ['CREATED'],
    drafting: true,
  });
  forger.created('f1', 'batches', 'p-b-1');
  forger.announce('dds.created', `${syncOf('f1')}-drafted-0`, statement);
  forger.ledger.drafts.push({ integration, total: 1, entry: statement });
  forger.ledger.ended.at(-1)?.answer?.ddsCreated?.push(statement);
  const { externalId: _externalId, ...fields } = batchItem('p-b-1', 'f1/0');
  forger.keep('batches', 'p-b-1', fields);
  for (const plural of ['suppliers', 'products', 'batches'] as const) forger.pollAll(plural);
  eraseOne(forger);
  addCustomers(forger);
  return forger;
}

/** A supplier that z1 creates and z2 erases. */
function eraseOne(forger: Forger): void {
  const { ledger } = forger;
  const [internalId, at] = ['sup_of-e-z-0', dateOf(100_000)];
  const one = [item('e-z-0', 'z1/0')];
  forger.push({ name: 'z1', plural: 'suppliers', items: one, said: ['CREATED'] });
  forger.created('z1', 'suppliers', 'e-z-0');
  forger.push({ name: 'z2', plural: 'suppliers', items: one, said: ['UPDATED'], action: 'erase' });
  forger.announce('supplier.erased', `${syncOf('z2')}-erased-0`, { externalId: '', internalId });
  const kept = { integration, plural: 'suppliers', internalId, externalId: '' } as const;
  ledger.stored.push({ ...kept, push: syncOf('z2'), fields: { syncStatus: 'ERASED' } });
  const version = { records: [[internalId, syncOf('z2'), ledger.begun.at(-1)!.begunAt]] };
  const asked = { by: 'mirror suppliers', integration, method: 'GET', path: '', outcome: 200 };
  ledger.asks.push({ ...asked, begunMs: 90_000, endedMs: 90_001, answer: version });
  ledger.listed.push({ integration, plural: 'suppliers', total: 3, entities: [['', '', internalId, at]] });
  for (const line of ledger.listed.filter(({ plural }) => plural === 'suppliers')) line.total = 3;
}

export const answerOf = ({ ledger }: Forger, push: string) => {
  const answer = ledger.ended.find((line) => line.push === push)?.answer;
  if (answer === undefined) throw new Error(`${push} has no answer`);
  return answer;
};
export const eventOf = ({ ledger }: Forger, part: string) => {
  const event = ledger.events.find(({ id }) => id.includes(part));
  if (event === undefined) throw new Error(`no event ${part}`);
  return event;
};
export const drop = <T>(all: T[], isDropped: (one: T) => boolean): void => {
  const kept = all.filter((one) => !isDropped(one));
  if (kept.length === all.length) throw new Error('nothing to drop');
  all.splice(0, all.length, ...kept);
};
/** Each final view of the record now has this name. */
export const renamed = ({ ledger }: Forger, externalId: string, name: string): void => {
  for (const line of [...ledger.listed, ...ledger.pages]) {
    line.entities = line.entities.map((one) =>
      one[0] === externalId ? [one[0], name, one[2], one[3]] : one,
    );
  }
  for (const line of ledger.stored) {
    if (line.externalId === externalId) line.fields = { ...line.fields, name };
  }
};
/** The push a3, the last of its record, has no answer and did nothing. */
export function cutOffA3(forger: Forger): void {
  const { begun, ended, runs, events, deliveries } = forger.ledger;
  for (const lines of [begun, ended]) drop<{ push: string }>(lines, ({ push }) => push === 'a3');
  drop(runs, ({ run }) => run.syncId === syncOf('a3'));
  drop(events, ({ id }) => id.includes('a3'));
  drop(deliveries, ({ event }) => event.includes('a3'));
  renamed(forger, 'p-s-1', 'a2/0');
}
