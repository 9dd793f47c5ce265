// Which records a caller names by their ids, and which of these ids name none.
import { quote } from '@integration-sync/contracts';
import { giveWay } from '@integration-sync/runtime/pace';
import type { StatusChange } from '../action.ts';
import type { Rejected } from '../items/answer.ts';
import type { Stored } from '../records/classify.ts';
import type { KindEngine } from '../engine.ts';
import { gatherRecords, type AcceptedItem, type PushedRecord } from '../items/fold.ts';
import { internalIdOf } from '../ids.ts';
import type { Prepared } from './prepare.ts';
import { isErased } from '../items/status.ts';

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
  const stored = await records.read(
    integration,
    named.map(({ internalId }) => internalId),
  );
  const there: PushedRecord[] = [];
  for (const record of named) {
    if (isThere(stored.get(record.internalId), action)) there.push({ ...record, place: there.length });
    else reject(record.positions[0] ?? 0, record.externalId, notFound(kind.entityType, record.externalId));
  }
  return { records: there, rejected, found: new Map(), stored };
}

/** What is erased can be erased again, and is not there for anything else. */
const isThere = (stored: Stored | undefined, action: StatusChange): boolean =>
  stored !== undefined && (action === 'erase' || !isErased(stored.fields));

function notFound(entityType: string, externalId: string): string {
  const name = `${entityType.charAt(0).toUpperCase()}${entityType.slice(1)}`;
  return `${name} with externalId "${externalId}" not found`;
}
