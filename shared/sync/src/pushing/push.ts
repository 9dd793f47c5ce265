// The handlers of push, archive and erase, from the bytes of the request to the answer. The steps of a push are:
//
//   order ── check ── references ── carry out (carry-out.ts) ── answer
import { isStrict, queryErrorsOf } from '@integration-sync/contracts';
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import type { StatusChange } from '../action.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { answerOf, statusAnswerOf } from '../items/push-answer.ts';
import { isObject, readIdsBody, readPush, type PushBody } from '../items/push-body.ts';
import { carryOut } from './carry-out.ts';
import { afterEarlierPushes } from './await-earlier-pushes.ts';
import { itemDetailsOf, wantsDetails } from './item-details.ts';
import { prepare, prepareNamed } from './prepare.ts';

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
    const drafts = written.filter(({ made }) => made);
    const answer = answerOf(of.kind, { applied, rejected, counts, asked, drafts });
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

// Archive and erase change the status of the named records, by the same steps as a push.

export const changeStatus =
  (action: StatusChange) =>
  (engine: Engine, of: KindEngine, request: BusRequest): Promise<BusReply> => {
    const read = (): readonly unknown[] => readIdsBody(request.body, queryErrorsOf(request));
    return afterEarlierPushes(engine, of, request, { read, idsOf: (ids) => ids }, async (externalIds) => {
      const prepared = await prepareNamed(of, request.integration, externalIds, action);
      const task = { action, asked: false, ...prepared };
      const { syncId, applied, counts } = await carryOut(engine, of, request, task);
      return {
        headers: { 'x-sync-id': syncId },
        body: JSON.stringify(statusAnswerOf(action, { applied, rejected: prepared.rejected })),
        logFields: { syncId, items: externalIds.length, ...counts },
      };
    });
  };
