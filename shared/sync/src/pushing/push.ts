// A push, from its bytes to its answer. The steps that only compute are elsewhere; this is their order, and what
// the database and the other services are asked in between.
//
//   order ── check ── references ── carry out (carry-out.ts) ── answer
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { answerOf } from '../items/answer.ts';
import { isObject, readPush, type PushBody } from '../items/body.ts';
import { carryOut } from './carry-out.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { inOrder } from './in-order.ts';
import { prepare } from './prepare.ts';

export const push = (engine: Engine, of: KindEngine, request: BusRequest): Promise<BusReply> =>
  inOrder(
    engine,
    of,
    request,
    { read: () => readPush(of.kind, request.body), idsOf: ({ items }) => items.map(externalIdOf) },
    (body) => pushBody(engine, of, request, body),
  );

async function pushBody(
  engine: Engine,
  of: KindEngine,
  request: BusRequest,
  body: PushBody,
): Promise<BusReply> {
  const prepared = await prepare(of, request, body);
  const { syncId, settled, counts, drafts } = await carryOut(engine, of, request, {
    action: 'push',
    drafting: body.drafting,
    ...prepared,
  });
  return {
    headers: { 'x-sync-id': syncId },
    body: JSON.stringify(answerOf(of.kind, { settled, rejected: prepared.rejected, counts, drafts })),
    logFields: { syncId, items: body.items.length, ...counts },
  };
}

const externalIdOf = (item: unknown): unknown =>
  isObject(item) && 'externalId' in item ? item.externalId : undefined;
