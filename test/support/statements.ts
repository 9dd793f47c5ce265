// What tests of due-diligence statements push, read and expect.
import type { DdsAnnounced, DdsEntry } from '@integration-sync/contracts';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import { settledWithinMs } from './left-behind.ts';
import type { Caller, SeenEvent, World } from './sync.ts';

export const batch = (externalId: string, fields: object = {}) => ({
  externalId,
  productExternalId: 'p',
  batchNumber: `LOT ${externalId}`,
  ...fields,
});
export const numbers = (reference: string | null, verification: string | null = null) => ({
  ddsReferenceNumber: reference,
  ddsVerificationNumber: verification,
});

const isCompletion = ({ body }: SeenEvent): boolean => body.event === 'sync.completed';

/** The events of statements, once so many pushes are announced. */
export async function toldOfStatements(of: Caller, pushes: number): Promise<SeenEvent[]> {
  const events = await eventually(
    () => of.events(),
    (all) => all.filter(isCompletion).length === pushes,
    settledWithinMs,
  );
  return events.filter(({ body }) => body.event.startsWith('dds.'));
}

export const textOf = ({ body: { event, data } }: SeenEvent): string => {
  if (!('ddsId' in data)) return event;
  const changed = 'changedFields' in data ? ` ${data.changedFields.join()}` : '';
  return `${event} ${data.batchExternalId} ${data.status} ${data.referenceNumber} ${data.verificationNumber}${changed}`;
};

export async function listAllDds(of: Caller, query = ''): Promise<DdsEntry[]> {
  const all: DdsEntry[] = [];
  for (let next: string | undefined = `limit=100${query}`; next !== undefined;) {
    const page = await of.dds(next);
    all.push(...page.entities);
    next = page.next;
  }
  return all;
}

export const shownOf = ({ batchExternalId, status, referenceNumber, verificationNumber }: DdsEntry): string =>
  `${batchExternalId} ${status} ${referenceNumber} ${verificationNumber}`;

/** Each batch with a number has a statement, and each statement shows what its batch holds. */
export async function expectAgreement(
  { store }: Pick<World, 'store'>,
  { integration }: Pick<Caller, 'integration'>,
  listed: readonly DdsEntry[],
): Promise<void> {
  const documents = await store
    .collection<{ _id: string; integration: string; externalId: string; fields: Record<string, string> }>(
      'batches',
    )
    .find({ integration })
    .toArray();
  const drafted = new Set(listed.map(({ batchExternalId }) => batchExternalId));
  const expected = documents.flatMap(({ externalId, fields }) => {
    const { ddsReferenceNumber: reference = null, ddsVerificationNumber: verification = null } = fields;
    if (reference !== null) return `${externalId} REFERENCED ${reference} ${verification}`;
    return drafted.has(externalId) ? `${externalId} DRAFT null null` : [];
  });
  expect(listed.map(shownOf).toSorted()).toEqual(expected.toSorted());
}

/**
 * Each statement was made once, and its events lead to what is listed: none is missing where the status turns as often as it must, and
 * none is a second one where each number comes once. The tests push each number once.
 */
export function expectChain(told: readonly SeenEvent[], listed: readonly DdsEntry[]): void {
  expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
  for (const entry of listed) {
    const of = told.flatMap(({ body: { data } }) =>
      'ddsId' in data && data.ddsId === entry.ddsId ? [data] : [],
    );
    const made = of.filter((data) => !('changedFields' in data));
    expect(made).toHaveLength(1);
    expect(of.map(shownOf)).toContain(shownOf(entry));
    const changing = (field: DdsAnnounced) =>
      of.filter((data) => !('changedFields' in data) || data.changedFields.includes(field));
    const given = changing('referenceNumber').flatMap(({ referenceNumber }) => referenceNumber ?? []);
    expect(given).toEqual([...new Set(given)]);
    const turns = changing('status').map(({ status }): number => (status === 'REFERENCED' ? 1 : -1));
    // That a draft is made is no turn.
    const balance = turns.reduce((sum, turn) => sum + turn, made[0]?.status === 'DRAFT' ? 1 : 0);
    expect([entry.ddsId, balance]).toEqual([entry.ddsId, entry.status === 'REFERENCED' ? 1 : 0]);
  }
}
