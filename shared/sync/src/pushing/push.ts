// A push, from its bytes to its answer. The steps that only compute are elsewhere; this is their order, and what
// the database and the other services are asked in between.
//
//   order ── check ── references ── carry out (carry-out.ts) ── answer
import { isStrict } from '@integration-sync/contracts';
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { answerOf } from '../items/answer.ts';
import { isObject, readPush, type PushBody } from '../items/body.ts';
import { carryOut } from './carry-out.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { inOrder } from './in-order.ts';
import { itemDetailsOf, wantsDetails } from './item-details.ts';
import { prepare } from './prepare.ts';

export async function push(engine: Engine, of: KindEngine, request: BusRequest): Promise<BusReply> {
  const isDetailed = wantsDetails(request);
  const read = (): PushBody => readPush(of.kind, request.body, isStrict(request));
  return inOrder(engine, of, request, { read, idsOf }, (body) =>
    pushBody(engine, of, request, body, isDetailed),
  );
}

async function pushBody(
  engine: Engine,
  of: KindEngine,
  request: BusRequest,
  body: PushBody,
  isDetailed: boolean,
): Promise<BusReply> {
  const prepared = await prepare(of, request, body);
  const { syncId, settled, counts, drafts } = await carryOut(engine, of, request, {
    action: 'push',
    drafting: body.drafting,
    ...prepared,
  });
  const { rejected } = prepared;
  const answer = answerOf(of.kind, { settled, rejected, counts, drafts });
  const more = isDetailed ? itemDetailsOf(of, request, { items: body.items, settled, rejected, counts }) : {};
  return {
    headers: { 'x-sync-id': syncId },
    body: JSON.stringify({ ...answer, ...more }),
    logFields: { syncId, items: body.items.length, ...counts },
  };
}

const idsOf = ({ items }: PushBody): unknown[] => items.map(externalIdOf);

const externalIdOf = (item: unknown): unknown =>
  isObject(item) && 'externalId' in item ? item.externalId : undefined;
