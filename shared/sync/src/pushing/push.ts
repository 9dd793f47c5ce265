// The handlers of push, plan, archive and erase, from the bytes of the request to the answer. The steps of a push are:
//
//   order ── check ── references ── carry out (carry-out.ts) ── answer
import { isStrict, queryErrorsOf } from '@integration-sync/contracts';
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { giveWay, turnToRead } from '@integration-sync/runtime/pace';
import { doneBy, type StatusChange } from '../action.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { internalIdsOf } from '../ids.ts';
import { answerItems, answerOf, countItems } from '../items/push-answer.ts';
import { isObject, readIdsBody, readPush, type PushBody } from '../items/push-body.ts';
import { idCheck } from '../items/validate.ts';
import { sortRecords } from '../records/sort-records.ts';
import { carryOut } from './carry-out.ts';
import { draftWrites, followedOf } from './drafting.ts';
import { afterEarlierPushes } from './await-earlier-pushes.ts';
import { itemDetailsOf, wantsDetails } from './item-details.ts';
import { prepare, prepareNamed } from './prepare.ts';
import { appliedOf } from './write.ts';

export async function push(engine: Engine, of: KindEngine, request: BusRequest): Promise<BusReply> {
  const ofQuery = queryErrorsOf(request);
  const isDetailed = wantsDetails(request, ofQuery);
  const read = (): PushBody => readPush(of.kind, request.body, { strict: isStrict(request), ofQuery });
  return afterEarlierPushes(engine, of, request, { read, idsOf }, async (body) => {
    const { items, drafting: asked } = body;
    const prepared = await prepare(of, request, body);
    const { rejected } = prepared;
    const task = { action: 'push', asked, ...prepared } as const;
    const { syncId, applied, counts, drafts: written } = await carryOut(engine, of, request, task);
    const drafts = asked ? written.filter(({ made }) => made) : [];
    const answer = answerOf(of.kind, { applied, rejected, counts, drafts });
    const more = isDetailed ? itemDetailsOf(of, request, { items, applied, rejected, counts }) : {};
    return {
      headers: { 'x-sync-id': syncId },
      body: JSON.stringify({ ...answer, ...more }),
      logFields: { syncId, items: items.length, ...counts },
    };
  });
}

const idsOf = ({ items }: PushBody): unknown[] => items.map(externalIdOf);

const externalIdOf = (item: unknown): unknown => (isObject(item) ? item['externalId'] : undefined);

// A plan takes the steps of a push before its writes, and answers what the push would answer.

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
  const drafts = asked ? makes : [];
  const counts = countItems(applied, rejected);
  return {
    headers: {},
    body: JSON.stringify({
      ...answerOf(kind, { applied, rejected, counts, drafts }),
      ...itemDetailsOf(of, request, { items, applied, rejected, counts }),
    }),
    logFields: { items: items.length, ...counts },
  };
}

// Archive and erase change the status of the named records, by the same steps as a push.

export const changeStatus =
  (action: StatusChange) =>
  (engine: Engine, of: KindEngine, request: BusRequest): Promise<BusReply> => {
    const read = (): readonly unknown[] => readIdsBody(request.body, queryErrorsOf(request));
    return afterEarlierPushes(engine, of, request, { read, idsOf: (ids) => ids }, async (externalIds) => {
      const prepared = await prepareNamed(of, request.integration, externalIds, action);
      const task = { action, asked: false, ...prepared };
      const { syncId, applied, counts } = await carryOut(engine, of, request, task);
      const counted = doneBy[action];
      const { success, errors, records } = answerItems(applied, prepared.rejected, counted.toUpperCase());
      return {
        headers: { 'x-sync-id': syncId },
        body: JSON.stringify({ success, [counted]: applied.length, errors, records }),
        logFields: { syncId, items: externalIds.length, ...counts },
      };
    });
  };
