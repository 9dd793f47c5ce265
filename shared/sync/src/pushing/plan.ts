// A plan: the push's own steps up to the moment of writing, and what the push would then answer. It writes nothing.
import { isStrict } from '@integration-sync/contracts';
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { giveWay } from '@integration-sync/runtime/pace';
import { answerOf, countItems } from '../items/answer.ts';
import { readPlan } from '../items/body.ts';
import { sortRecords } from '../records/classify.ts';
import { missingDrafts, readDrafted } from './drafting.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { itemDetailsOf } from './item-details.ts';
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
  const body = readPlan(kind, request.body, idCheck(of.validate), isStrict(request));
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
  const settled = [...fresh, ...changed, ...unchanged]
    .map((one) => settledOf(one))
    .toSorted((one, other) => one.record.place - other.record.place);
  const drafts = body.drafting ? missingDrafts(kind, settled, { found, draftedBefore }, log) : [];
  const counts = countItems(settled, rejected);
  return {
    headers: {},
    body: JSON.stringify({
      ...answerOf(kind, { settled, rejected, counts, drafts }),
      ...itemDetailsOf(of, request, { items: body.items, settled, rejected, counts }),
    }),
    logFields: { items: body.items.length, ...counts },
  };
}
