// Archiving and erasing: the records that a caller names by their ids get another status, by the way that a push takes.
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import type { StatusChange } from '../action.ts';
import { answerItems } from '../items/answer.ts';
import { readIdsBody } from '../items/ids-body.ts';
import { carryOut } from './carry-out.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { inOrder } from './in-order.ts';
import { prepareNamed } from './prepare-named.ts';

const words = {
  archive: { counted: 'archived', status: 'ARCHIVED' },
  erase: { counted: 'erased', status: 'ERASED' },
} as const;

export const changeStatus = (
  engine: Engine,
  of: KindEngine,
  request: BusRequest,
  action: StatusChange,
): Promise<BusReply> =>
  inOrder(
    engine,
    of,
    request,
    { read: () => readIdsBody(request.body), idsOf: (externalIds) => externalIds },
    (externalIds) => changeNamed(engine, of, request, { action, externalIds }),
  );

async function changeNamed(
  engine: Engine,
  of: KindEngine,
  request: BusRequest,
  { action, externalIds }: { action: StatusChange; externalIds: readonly unknown[] },
): Promise<BusReply> {
  const prepared = await prepareNamed(of, request.integration, externalIds, action);
  const { syncId, settled, counts } = await carryOut(engine, of, request, {
    action,
    drafting: false,
    ...prepared,
  });
  const { counted, status } = words[action];
  const { success, errors, records } = answerItems(settled, prepared.rejected, status);
  return {
    headers: { 'x-sync-id': syncId },
    body: JSON.stringify({ success, [counted]: settled.length, errors, records }),
    logFields: { syncId, items: externalIds.length, ...counts },
  };
}
