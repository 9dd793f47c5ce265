// How a listing shows records, with a name or whole (`details`). Their order and pages: answer-page.ts.
import type { ListingEntity, RecordDetails } from '@integration-sync/contracts';
import type { KindEngine } from '../engine.ts';
import { internalIdOf, syncIdOf } from '../ids.ts';
import { fieldNames, type Fields } from '../kind.ts';
import type { ListingRule } from './answer-page.ts';
import { recordNarrowing } from './listing-filters.ts';
import type { RecordDocument } from '../records/record-document.ts';
import { statusField, statusOf } from '../items/archive-erase.ts';

export function recordListing(of: KindEngine): ListingRule<RecordDocument> {
  const { kind } = of;
  const { plural, nameField, reference } = kind;
  const names = fieldNames(kind);

  const entityOf = ({ _id, externalId, fields, lastSyncedAt }: RecordDocument): ListingEntity => ({
    externalId,
    internalId: _id,
    // An erased record has no name.
    name: String(fields[nameField] ?? ''),
    syncStatus: statusOf(fields),
    lastSyncedAt: lastSyncedAt.toISOString(),
  });

  /** The fields in the order of the kind's schema; the database has them in the order in which they were set. */
  const inOrder = (fields: Fields): Fields =>
    Object.fromEntries(names.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])));

  /** The internal id of the record to which the document refers. */
  const linkOf = ({ integration, fields }: RecordDocument): Partial<RecordDetails> => {
    if (reference === undefined) return {};
    const { field, internalId } = reference;
    const externalId = fields[field];
    const isLinked = typeof externalId === 'string';
    return { [internalId.name]: isLinked ? internalIdOf(internalId.prefix, integration, externalId) : null };
  };

  const detailsOf = (document: RecordDocument): RecordDetails => ({
    fields: inOrder(document.fields),
    createdBy: syncIdOf(document.order),
    changedBy: document.push,
    changedAt: (document.changedAt ?? document.lastSyncedAt).toISOString(),
    ...linkOf(document),
  });

  return {
    name: plural,
    narrowing: recordNarrowing(of),
    fields: ['externalId', `fields.${nameField}`, `fields.${statusField}`, 'lastSyncedAt'],
    entityOf,
    whole: {
      of,
      fields: ['integration', 'externalId', 'fields', 'push', 'lastSyncedAt', 'changedAt'],
      entityOf: (document) => ({ ...entityOf(document), details: detailsOf(document) }),
    },
  };
}
