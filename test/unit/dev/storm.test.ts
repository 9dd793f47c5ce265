// Whether the checks of a storm see what they exist for: each test forges one class of violation into a
// ledger in which everything had gone as promised.
import { describe, expect, it } from 'vitest';
import { judge } from '../../../dev/storm/check/verify.ts';
import { violationClasses } from '../../../dev/storm/check/violations.ts';
import { forgedCustomers, permittedCustomers } from '../../support/storm/of-customers.ts';
import { forgedAnswers } from '../../support/storm/of-answers.ts';
import { forgedDeliveries, permittedDeliveries } from '../../support/storm/of-deliveries.ts';
import { forgedFailovers, permittedFailovers } from '../../support/storm/of-failovers.ts';
import { forgedNumbers, permittedNumbers } from '../../support/storm/of-numbers.ts';
import { forgedRecords, permittedRecords } from '../../support/storm/of-records.ts';
import { forge } from '../../support/storm/story.ts';

const forgeries = [
  forgedRecords,
  forgedAnswers,
  forgedDeliveries,
  forgedFailovers,
  forgedCustomers,
  forgedNumbers,
].flatMap((byClass) =>
  Object.entries(byClass).flatMap(([found, changes]) =>
    Object.entries(changes).map(([what, change]) => ({ what, found, change })),
  ),
);

it('the check of npm run storm finds no violation in a correct history', () => {
  const { tallies, figures } = judge(forge().ledger);
  expect([...tallies]).toEqual([]);
  expect(figures.acknowledgedItems).toBe(11);
});

describe('the check of npm run storm finds a violation when', () => {
  it.each(forgeries)('$what: $found', ({ found, change }) => {
    const forger = forge();
    change(forger);
    expect([...judge(forger.ledger).tallies.keys()]).toContain(found);
  });
});

it('the check of npm run storm is tested with a forged history of each class of violation', () => {
  const forged = new Set(forgeries.map(({ found }) => found));
  expect(Object.keys(violationClasses).filter((name) => !forged.has(name))).toEqual([]);
});

describe('the check of npm run storm finds no violation when', () => {
  const allPermitted = [
    permittedRecords,
    permittedDeliveries,
    permittedFailovers,
    permittedCustomers,
    permittedNumbers,
  ];
  it.each(allPermitted.flatMap((changes) => Object.entries(changes)))('%s', (_what, change) => {
    const forger = forge();
    change(forger);
    expect([...judge(forger.ledger).tallies]).toEqual([]);
  });
});
