// The steps that push, archive and erase share once their records are known, from the journal entry to the announcement.
//
//   begin ── does the caller still wait? ── write ── (erase: forget errors of earlier pushes) ── complete ── announce
import { requestHeaders } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import type { Counts } from '../items/push-answer.ts';
import type { Engine, KindEngine } from '../engine.ts';
import { newSyncId } from '../ids.ts';
import { completeRun } from './run-lifecycle.ts';
import { openPermission } from './may-still-write.ts';
import { notFound } from './prepare.ts';
import type { Run, Task, Written } from './push-state.ts';
import { writeRecords } from './write.ts';

export interface Done extends Written {
  syncId: string;
  counts: Counts;
}

export async function carryOut(
  engine: Engine,
  of: KindEngine,
  request: BusRequest,
  task: Task,
): Promise<Done> {
  await engine.reach('before-entry');
  const permission = openPermission(request);
  await permission.confirm();
  const { integration, traceparent } = request;
  const startedAt = new Date(engine.now());
  const began = performance.now();
  const run: Run = {
    ...task,
    syncId: newSyncId(startedAt),
    of,
    integration,
    traceparent,
    client: request.headers.get(requestHeaders.client),
    startedAt,
    waitedMs: () => performance.now() - request.arrivedAtMs,
    elapsedMs: () => performance.now() - began,
    permission,
  };
  const written = run.records.length === 0 ? { applied: [], drafts: [] } : await writeRecords(engine, run);
  if (run.action === 'erase') await forgetErrors(engine, run);
  const announcement = await completeRun(engine, run, written);
  await engine.reach('before-answer');
  engine.announcer.announce(announcement);
  const { counts } = announcement;
  engine.metrics.pushed(of.kind.plural, counts, run.action);
  return { ...written, syncId: run.syncId, counts };
}

/**
 * Removes the errors of earlier pushes about every named record from the journal, including records that were never accepted, and the
 * errors of records that referred to one of them. Runs before the answer, because a caller without an answer erases again.
 */
async function forgetErrors({ journal }: Engine, { of, integration, records, rejected }: Run): Promise<void> {
  const named = [...records, ...rejected].map(({ externalId }) => externalId);
  const externalIds = named.filter((externalId) => externalId !== '');
  if (externalIds.length === 0) return;
  const { entityType } = of.kind;
  await journal.forgetErrors({ integration, entityType }, externalIds);
  await journal.forgetErrorsWith(
    integration,
    externalIds.map((externalId) => notFound(entityType, externalId)),
  );
}
