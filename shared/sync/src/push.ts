// A push, from its bytes to its answer. The steps that only compute are elsewhere; this is their order, and what
// the database and the other services are asked in between.
//
//   check ── references ── begin ── ask whether it is waited for ── write ── complete ── answer ── announce
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { answerOf } from './answer.ts';
import { readPush } from './body.ts';
import type { Engine, KindEngine } from './engine.ts';
import { completeRun, recordIdleRun } from './ledger.ts';
import { openPermission } from './permission.ts';
import { prepare } from './prepare.ts';
import { newRun, nothingWritten } from './run.ts';
import { writeRecords } from './write.ts';

export async function push(engine: Engine, of: KindEngine, request: BusRequest): Promise<BusReply> {
  const { kind } = of;
  const { integration } = request;
  const body = readPush(kind, request.body);
  const { drafting } = body;
  const { records, rejected, found } = await prepare(of, request, body);
  await engine.reach('before-entry');
  const permission = openPermission(request);
  await permission.confirm();
  const run = newRun(engine, of, { integration, records, rejected, drafting, permission });
  const written = records.length === 0 ? nothingWritten : await writeRecords(engine, run, found);
  const announcement = await (records.length === 0 ? recordIdleRun : completeRun)(engine, run, written);
  await engine.reach('before-answer');
  engine.announcer.announce(announcement);

  const { counts } = announcement;
  engine.numbers.pushed(kind.plural, counts);
  const { settled } = written;
  const drafts = kind.drafting === undefined ? undefined : written.drafts;
  return {
    headers: { 'x-sync-id': run.syncId },
    body: JSON.stringify(answerOf({ settled, rejected, counts, drafts })),
    logFields: { syncId: run.syncId, items: body.items.length, ...counts },
  };
}
