// The journal as callers see it: what was pushed in the last days, newest first.
import {
  requestHeaders,
  RunsQuestion,
  type Listing,
  type RunsFound,
  type SyncRun,
} from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import type { Store } from '@integration-sync/runtime/store';
import { headKey } from './heads.ts';
import type { Entry } from './journal.ts';
import { readNewest, type RunSource } from './merge.ts';
import { linkToNext, readPageAsked } from './paging.ts';
import { readQuestion } from './question.ts';

/** One journal, for one integration. */
export type OpenRunSource = (asking: { integration: string; requestId: string }) => RunSource;

export function openRuns(store: Store, collection: string): OpenRunSource {
  const entries = store.collection<Entry>(collection);
  return ({ integration }) => ({
    async read({ before, skip, limit, counted }) {
      const found = await entries
        .find({ integration, ...(before === null ? {} : { _id: { $lt: before } }) }, { projection: shown })
        .hint('history')
        .sort({ integration: 1, _id: -1 })
        .skip(skip)
        .limit(limit)
        .toArray();
      const total = counted ? await entries.countDocuments({ integration }, { hint: 'history' }) : 0;
      return { runs: found.map(runOf), total };
    },
  });
}

const shown = {
  entityType: 1,
  state: 1,
  created: 1,
  updated: 1,
  unchanged: 1,
  failed: 1,
  startedAt: 1,
  completedAt: 1,
} as const;

const runOf = (entry: Entry): SyncRun => ({
  syncId: entry._id,
  entityType: entry.entityType,
  state: entry.state === 'writing' ? 'running' : 'completed',
  created: entry.created,
  updated: entry.updated,
  unchanged: entry.unchanged,
  failed: entry.failed,
  startedAt: entry.startedAt.toISOString(),
  completedAt: entry.state === 'writing' ? null : (entry.completedAt?.toISOString() ?? null),
});

/** Answers the service that lists the pushes of all. */
export const answerRuns =
  (open: OpenRunSource): BusHandler =>
  async (request) => {
    const found: RunsFound = await open(request).read(readQuestion(RunsQuestion, request.body));
    return { body: JSON.stringify(found), logFields: { entities: found.runs.length } };
  };

const listed = 'sync-runs';

/** Answers a listing of the pushes of all the journals. */
export const listRuns =
  (sources: readonly OpenRunSource[], cursorKey: Uint8Array): BusHandler =>
  async (request) => {
    const seal = { key: cursorKey, listing: headKey(request.integration, listed) };
    const parameters = new URLSearchParams(request.headers.get(requestHeaders.query) ?? '');
    // A history is read by place, not by time.
    parameters.delete('since');
    const asked = readPageAsked(parameters, seal);
    const { page, limit, after } = asked;
    const { runs, total } = await readNewest(
      sources.map((open) => open(request)),
      { before: after ?? null, skip: after === undefined ? (page - 1) * limit : 0, limit: limit + 1 },
    );
    const entities = runs.slice(0, limit);
    const last = runs.length > limit ? entities.at(-1) : undefined;
    const answer: Listing<SyncRun> = { entities, total, page, limit };
    return {
      headers: last === undefined ? {} : { link: linkToNext(listed, seal, asked, last.syncId) },
      body: JSON.stringify(answer),
      logFields: { entities: entities.length, total },
    };
  };
