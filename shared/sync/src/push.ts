// A push, from its bytes to its answer. The steps that only compute are elsewhere; this is their order, and what
// the database and the other services are asked in between.
//
//   check ── references ── begin ── ask whether it is waited for ── write ── complete ── answer ── announce
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { giveWay } from '@integration-sync/runtime/pace';
import { answerItems } from './answer.ts';
import { readPush } from './body.ts';
import type { Engine, KindEngine } from './engine.ts';
import { gatherRecords } from './fold.ts';
import { internalIdOf } from './ids.ts';
import { judgeItems, referencedIds } from './judge.ts';
import type { Reference } from './kind.ts';
import { completeRun, recordIdleRun } from './ledger.ts';
import { openPermission } from './permission.ts';
import { newRun, nothingWritten } from './run.ts';
import type { Verdict } from './validate.ts';
import { writeRecords } from './write.ts';

export async function push(engine: Engine, of: KindEngine, request: BusRequest): Promise<BusReply> {
  const { kind } = of;
  const { integration } = request;
  const { items, drafting } = readPush(kind, request.body);
  await giveWay(items.length);
  const verdicts = items.map((item) => of.validate(item));
  const reference = await findReferences(kind.reference, verdicts, request, drafting);
  await giveWay(items.length);
  const { accepted, rejected } = judgeItems(verdicts, reference);
  const records = gatherRecords(accepted, (externalId) =>
    internalIdOf(kind.idPrefix, integration, externalId),
  );
  await engine.reach('before-entry');
  const permission = openPermission(request);
  await permission.confirm();
  const run = newRun(engine, of, { integration, records, rejected, drafting, permission });
  const written =
    records.length === 0 ? nothingWritten : await writeRecords(engine, run, reference?.found ?? new Map());
  const announcement = await (records.length === 0 ? recordIdleRun : completeRun)(engine, run, written);
  await engine.reach('before-answer');
  engine.announcer.announce(announcement);

  const { counts } = announcement;
  engine.numbers.pushed(kind.plural, counts);
  const { success, errors, records: results } = answerItems(written.settled, rejected);
  const { created, updated } = counts;
  const drafts = kind.drafting === undefined ? {} : { ddsCreated: written.drafts.map(({ entry }) => entry) };
  return {
    headers: { 'x-sync-id': run.syncId },
    body: JSON.stringify({ success, created, updated, errors, records: results, ...drafts }),
    logFields: { syncId: run.syncId, items: items.length, ...counts },
  };
}

async function findReferences<Found>(
  rule: Reference<Found> | undefined,
  verdicts: readonly Verdict[],
  request: BusRequest,
  withContent: boolean,
): Promise<{ rule: Reference<Found>; found: ReadonlyMap<string, Found> } | undefined> {
  if (rule === undefined) return undefined;
  const ids = referencedIds(rule.field, verdicts);
  if (ids.length === 0) return { rule, found: new Map() };
  const { integration, requestId, deadline } = request;
  return { rule, found: await rule.find(ids, { integration, requestId, deadline, withContent }) };
}
