import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { orderOf } from '../../../shared/sync/src/ids.ts';
import {
  examine,
  isMore,
  packOutcomes,
  unpackOutcomes,
  untouched,
  type Trace,
} from '../../../shared/sync/src/records/push-outcome.ts';

const fields = ['name', 'code', 'country', 'address'];

describe('outcomes of the items of a push', () => {
  it('are encoded in two bytes and decoded', () => {
    const outcome = fc.record({
      created: fc.boolean(),
      drafted: fc.boolean(),
      changed: fc.subarray(fields),
    });
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 500 }), (outcomes) => {
        const packed = packOutcomes(outcomes, fields);
        expect(packed).toHaveLength(2 * outcomes.length);
        expect(unpackOutcomes(packed, fields)).toEqual(outcomes);
      }),
    );
  });

  it('are decoded with the field names that they were written with', () => {
    const packed = packOutcomes([{ ...untouched, changed: ['address'] }], fields);
    expect(unpackOutcomes(packed, [...fields, 'later'])[0]?.changed).toEqual(['address']);
  });

  it('have a bit for every field of every kind, and a kind with too many fields causes an error', () => {
    expect(() =>
      packOutcomes(
        [],
        Array.from({ length: 15 }, (_, index) => `f${index}`),
      ),
    ).toThrow('14 bits');
  });
});

describe('the outcome of a push whose replica died is found from the stored documents', () => {
  const mine = 'sync_a';
  const other = 'sync_b';
  const trace = (given: Partial<Trace>): Trace => ({
    externalId: 'S',
    order: orderOf(other, 0),
    push: other,
    ...given,
  });
  const told = (found: Trace | undefined, evidence: Record<string, string[]> = {}, drafted: string[] = []) =>
    examine(mine, ['id'], {
      documents: new Map(found === undefined ? [] : [['id', found]]),
      evidence,
      drafts: new Set(drafted),
    })[0];

  it.each([
    ['a record without a document', undefined, untouched],
    ['a record that another push created', trace({}), untouched],
    ['a record that another push changed', trace({ changed: ['name'] }), untouched],
    ['a created record', trace({ order: orderOf(mine, 3), push: mine }), { ...untouched, created: true }],
    [
      'a record that the dead push created and another push has changed since',
      trace({ order: orderOf(mine, 3), changed: ['name'] }),
      { ...untouched, created: true },
    ],
    ['a changed record', trace({ push: mine, changed: ['code'] }), { ...untouched, changed: ['code'] }],
  ])('for %s', (_what, found, outcome) => {
    expect(told(found)).toEqual(outcome);
  });

  it('for a record that a later push has changed, from the evidence that the later push stored', () => {
    expect(told(trace({ changed: ['name'] }), { id: ['code'] })).toEqual({ ...untouched, changed: ['code'] });
    expect(told(trace({ changed: ['name'] }), { another: ['code'] })).toEqual(untouched);
  });

  it('for a batch for which the dead push drafted a statement', () => {
    expect(told(trace({}), {}, ['id'])).toEqual({ ...untouched, drafted: true });
  });

  it('in the order of items', () => {
    const documents = new Map([['c', trace({ push: mine, changed: ['name'] })]]);
    const outcomes = examine(mine, ['a', 'c', 'b'], { documents, evidence: {}, drafts: new Set() });
    expect(outcomes.map(({ changed }) => changed.length)).toEqual([0, 1, 0]);
  });
});

describe('a second check of what a push did to a record', () => {
  const created = { ...untouched, created: true };
  const drafted = { ...untouched, drafted: true };
  const changed = { ...untouched, changed: ['name'] };

  it.each([
    ['nothing', 'a creation', untouched, created],
    ['nothing', 'a statement', untouched, drafted],
    ['nothing', 'a change', untouched, changed],
    ['a creation', 'a statement beside it', created, { ...created, drafted: true }],
  ])('finds more where the first check found %s and the second finds %s', (_before, _now, earlier, later) => {
    expect(isMore(later, earlier)).toBe(true);
    expect(isMore(earlier, later)).toBe(false);
  });

  it.each([
    ['nothing', untouched],
    ['a creation', created],
    ['a statement', drafted],
    ['a change', changed],
  ])('finds no more where both checks find %s', (_what, outcome) => {
    expect(isMore(outcome, outcome)).toBe(false);
  });
});
