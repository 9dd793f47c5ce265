// A plan: the push's own steps up to the moment of writing, and what the push would then answer. It writes nothing.
import type { PlannedItem } from '@integration-sync/contracts';
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { giveWay } from '@integration-sync/runtime/pace';
import { answerOf, countItems, type Reason, type Rejected } from '../items/answer.ts';
import { readPlan } from '../items/body.ts';
import { sortRecords, type Stored } from '../records/classify.ts';
import { missingDrafts, readDrafted } from './drafting.ts';
import type { Engine, KindEngine } from '../engine.ts';
import type { FieldReader } from '../items/fields.ts';
import { foldItems, type PushedRecord } from '../items/fold.ts';
import type { Kind } from '../kind.ts';
import { prepare } from './prepare.ts';
import { idCheck } from '../items/validate.ts';
import { settledOf } from './write.ts';

export async function plan(
  { log }: Pick<Engine, 'log'>,
  of: KindEngine,
  request: BusRequest,
): Promise<BusReply> {
  const { kind, readers } = of;
  const { integration } = request;
  const body = readPlan(kind, request.body, idCheck(of.validate));
  const { records, rejected, found } = await prepare(of, request, body, body.assume);
  const [stored, draftedBefore] = await Promise.all([
    of.records.read(
      integration,
      records.map(({ internalId }) => internalId),
    ),
    body.drafting ? readDrafted(of, integration, records) : new Set<string>(),
  ]);
  await giveWay(records.length);
  const { fresh, changed, unchanged } = sortRecords(readers.push, records, stored);
  const settled = [
    ...fresh.map((one) => settledOf(one, true)),
    ...[...changed, ...unchanged].map((one) => settledOf(one, false)),
  ].toSorted((one, other) => one.record.place - other.record.place);
  const drafts = body.drafting ? missingDrafts(kind, settled, { found, draftedBefore }, log) : [];
  const counts = countItems(settled, rejected);
  return {
    headers: {},
    body: JSON.stringify({
      ...answerOf(kind, { settled, rejected, counts, drafts }),
      unchanged: counts.unchanged,
      details: plannedItems(of, { records, rejected, stored }),
    }),
    logFields: { items: body.items.length, ...counts },
  };
}

interface Facts {
  records: readonly PushedRecord[];
  rejected: readonly Rejected[];
  stored: ReadonlyMap<string, Stored>;
}

/** In the pushed order. */
function plannedItems({ kind, readers }: KindEngine, { records, rejected, stored }: Facts): PlannedItem[] {
  const planned: PlannedItem[] = [];
  for (const record of records) planItems(readers.push, record, stored.get(record.internalId), planned);
  for (const { position, reasons } of rejected) {
    const problems = reasons.map((reason) => ({
      pointer: pointerTo(kind, position, reason),
      code: codeOf(kind, reason),
      detail: reason.detail,
    }));
    planned[position] = { index: position, action: 'failed', changedFields: [], problems };
  }
  return planned;
}

/** The items of one record follow each other: the second of two may change what the first has made. */
function planItems(
  reader: FieldReader,
  { items, positions }: PushedRecord,
  stored: Stored | undefined,
  planned: PlannedItem[],
): void {
  let fields = stored?.fields;
  for (const [nth, item] of items.entries()) {
    const index = positions[nth] ?? 0;
    const folded = foldItems(reader, fields, [item]);
    const changedFields = [...folded.changes.keys()];
    const ofExisting = changedFields.length === 0 ? 'unchanged' : 'updated';
    planned[index] = {
      index,
      action: fields === undefined ? 'created' : ofExisting,
      changedFields,
      problems: [],
    };
    ({ fields } = folded);
  }
}

const pointerTo = ({ plural }: Kind, position: number, { field }: Reason): string =>
  `/${plural}/${position}${field === '' ? '' : `/${field}`}`;

function codeOf(
  { schema }: Kind,
  { field, detail, notFound }: Reason,
): PlannedItem['problems'][number]['code'] {
  if (notFound === true) return 'reference_not_found';
  if (field === '') return 'not_an_object';
  const { 'x-required': required }: { 'x-required'?: string } = schema.properties[field] ?? {};
  return detail === required ? 'required' : 'wrong_value';
}
