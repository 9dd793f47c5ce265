// The steps of a push before it writes, which a plan takes too: validates the items, finds the records to which they refer, and
// groups the items by record.
import { isStrict, quote } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import { giveWay } from '@integration-sync/runtime/pace';
import type { StatusChange } from '../action.ts';
import type { KindEngine } from '../engine.ts';
import { internalIdOf, internalIdsOf } from '../ids.ts';
import { acceptItems, referencedIds } from '../items/accept.ts';
import { refuseLonely } from '../items/companions.ts';
import { refuseUnknown } from '../items/unknown-fields.ts';
import type { Rejected } from '../items/push-answer.ts';
import type { PushBody } from '../items/push-body.ts';
import { gatherRecords, type AcceptedItem, type PushedRecord } from '../items/fold.ts';
import { isErased } from '../items/archive-erase.ts';
import type { Stored } from '../records/sort-records.ts';
import { isFollowed } from './drafting.ts';

export interface Prepared {
  /** The records that the push names, in their order. */
  records: readonly PushedRecord[];
  rejected: readonly Rejected[];
  /** By externalId, the records to which the pushed records refer. */
  found: ReadonlyMap<string, unknown>;
  /** Whether the push may make or change drafts: it asks for drafts, or an item has a field that drafts follow. */
  drafting: boolean;
  /** By internal id, the stored records, if they were read already. */
  stored?: ReadonlyMap<string, Stored>;
}

export async function prepare(
  { kind, validate }: KindEngine,
  request: BusRequest,
  { items, drafting: asked, assume }: PushBody,
): Promise<Prepared> {
  await giveWay(items.length);
  const verdicts = items.map((item) => validate(item));
  const drafting = asked || verdicts.some(({ item }) => isFollowed(kind, item));
  const rule = kind.reference;
  const referred = rule === undefined ? [] : referencedIds(rule.field, verdicts);
  const found: Map<string, unknown> =
    rule === undefined || referred.length === 0 ? new Map() : await rule.find(referred, request, drafting);
  for (const id of assume) if (!found.has(id)) found.set(id, undefined);
  await giveWay(items.length);
  const { accepted, rejected } = acceptItems(
    verdicts,
    rule && { rule, found },
    isStrict(request) ? [refuseLonely(kind), refuseUnknown(kind)] : [refuseLonely(kind)],
  );
  const records = gatherRecords(accepted, (externalId) =>
    internalIdOf(kind.idPrefix, request.integration, externalId),
  );
  return { records, rejected, found, drafting };
}

// For archive and erase: the records that the externalIds name, and the externalIds that name no record.

export async function prepareNamed(
  { kind, validate, records }: KindEngine,
  integration: string,
  externalIds: readonly unknown[],
  action: StatusChange,
): Promise<Prepared> {
  await giveWay(externalIds.length);
  const accepted: AcceptedItem[] = [];
  const rejected: Rejected[] = [];
  const reject = (position: number, externalId: string, detail: string): void => {
    rejected.push({ position, externalId, reasons: [{ field: 'externalId', detail }] });
  };
  const firstAt = new Map<string, number>();
  for (const [position, given] of externalIds.entries()) {
    const { externalId, reasons } = validate({ externalId: given });
    const wrong = reasons.get('externalId');
    const earlier = firstAt.get(externalId);
    if (wrong !== undefined) reject(position, '', `/externalIds/${position}: ${wrong}`);
    else if (earlier !== undefined) {
      const detail = `/externalIds/${position}: ${quote(externalId)} stands at /externalIds/${earlier} already`;
      reject(position, externalId, detail);
    } else {
      firstAt.set(externalId, position);
      accepted.push({ position, externalId, item: {} });
    }
  }
  const named = gatherRecords(accepted, (externalId) => internalIdOf(kind.idPrefix, integration, externalId));
  const stored = await records.read(integration, internalIdsOf(named));
  const there: PushedRecord[] = [];
  for (const record of named) {
    if (isThere(stored.get(record.internalId), action)) there.push({ ...record, ordinal: there.length });
    else reject(record.positions[0] ?? 0, record.externalId, notFound(kind.entityType, record.externalId));
  }
  return { records: there, rejected, found: new Map(), drafting: false, stored };
}

/** An erased record counts as existing only if it is erased again. */
const isThere = (stored: Stored | undefined, action: StatusChange): boolean =>
  stored !== undefined && (action === 'erase' || !isErased(stored.fields));

export function notFound(entityType: string, externalId: string): string {
  const name = `${entityType.charAt(0).toUpperCase()}${entityType.slice(1)}`;
  return `${name} with externalId "${externalId}" not found`;
}
