// A push, from its bytes to its answer. The steps that only compute are elsewhere; this is their order, and what
// the database and the other services are asked in between.
//
//   check ── references ── carry out (carry-out.ts) ── answer
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { answerOf } from '../items/answer.ts';
import { readPush } from '../items/body.ts';
import { carryOut } from './carry-out.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { prepare } from './prepare.ts';

export async function push(engine: Engine, of: KindEngine, request: BusRequest): Promise<BusReply> {
  const { kind } = of;
  const body = readPush(kind, request.body);
  const prepared = await prepare(of, request, body);
  const { syncId, settled, counts, drafts } = await carryOut(engine, of, request, {
    action: 'push',
    drafting: body.drafting,
    ...prepared,
  });
  return {
    headers: { 'x-sync-id': syncId },
    body: JSON.stringify(answerOf(kind, { settled, rejected: prepared.rejected, counts, drafts })),
    logFields: { syncId, items: body.items.length, ...counts },
  };
}
