// The handler of a plan, which takes the steps of a push (push.ts) before its writes, and answers what the push would answer, always
// with `details`. It writes nothing.
import { isStrict, queryErrorsOf } from '@integration-sync/contracts';
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { giveWay, turnToRead } from '@integration-sync/runtime/pace';
import type { Engine, KindEngine } from '../engine.ts';
import { internalIdsOf } from '../ids.ts';
import { answerOf, countItems } from '../items/push-answer.ts';
import { readPush } from '../items/push-body.ts';
import { idCheck } from '../items/validate.ts';
import { sortRecords } from '../records/sort-records.ts';
import { draftWrites, followedOf } from './drafting.ts';
import { itemDetailsOf } from './item-details.ts';
import { prepare } from './prepare.ts';
import { appliedOf } from './write.ts';

export async function plan(_engine: Engine, of: KindEngine, request: BusRequest): Promise<BusReply> {
  const { kind, readers } = of;
  const { integration } = request;
  await turnToRead(request.body.length);
  const body = readPush(kind, request.body, {
    strict: isStrict(request),
    ofQuery: queryErrorsOf(request),
    isId: idCheck(of.validate),
  });
  const { items, drafting: asked } = body;
  const { records, rejected, found } = await prepare(of, request, body);
  const ids = internalIdsOf(records);
  const [stored, before] = await Promise.all([
    of.records.read(integration, ids),
    asked ? of.drafts?.read(integration, ids) : undefined,
  ]);
  await giveWay(records.length);
  const { fresh, changed, unchanged } = sortRecords(readers.push, records, stored);
  const applied = [...fresh, ...changed, ...unchanged]
    .map((one) => appliedOf(one))
    .toSorted((one, other) => one.record.ordinal - other.record.ordinal);
  const { makes } = draftWrites(kind, followedOf(kind, applied), {
    found,
    before: before ?? new Map(),
    asked,
  });
  const counts = countItems(applied, rejected);
  return {
    headers: {},
    body: JSON.stringify({
      ...answerOf(kind, { applied, rejected, counts, asked, drafts: makes }),
      ...itemDetailsOf(of, request, { items, applied, rejected, counts }),
    }),
    logFields: { items: items.length, ...counts },
  };
}
