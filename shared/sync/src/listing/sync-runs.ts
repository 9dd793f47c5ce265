// Sync runs: the pushes of the last days as callers see them, newest first, read from the journals of catalog and batches.
import {
  Failure,
  RunsQuestion,
  entityTypes,
  limits,
  quote,
  readOnce,
  readOneOf,
  requestHeaders,
  type EntityType,
  type FailureEntry,
  type Listing,
  type RunAnswer,
  type RunsFilter,
  type SyncRun,
  type SyncRunInFull,
  type UnannouncedRuns,
} from '@integration-sync/contracts';
import type { BusHandler, BusRequest } from '@integration-sync/runtime/bus';
import type { Filter, Store } from '@integration-sync/runtime/store';
import { syncIdsFrom } from '../ids.ts';
import type { Entry } from '../journal/journal-entry.ts';
import type { Journal } from '../journal/journal.ts';
import { readQuestion, type Asking } from '../service-messages.ts';
import { watermarkKey } from '../watermarks.ts';
import {
  linkToNext,
  readPageAsked,
  refuseCursorOfRemoved,
  skipOf,
  type PageAsked,
  type ReadFilters,
} from './listing-request.ts';

export interface RunsFound {
  runs: readonly SyncRun[];
  /** The number of all matching runs; 0 unless the question has `counted`. */
  total: number;
}

/** Reads sync runs from the journal of this service or of another. */
export interface RunJournal {
  /** The kinds whose pushes the journal has. */
  entityTypes: readonly EntityType[];
  read(asking: Asking, question: RunsQuestion): Promise<RunsFound>;
  /** One sync run with the errors of its items. */
  find(asking: Asking, syncId: string): Promise<SyncRunInFull | undefined>;
}

export function openRuns(store: Store, collection: string, kinds: readonly EntityType[]): RunJournal {
  const entries = store.collection<Entry>(collection);
  return {
    entityTypes: kinds,
    async read({ integration }, { before, skip, limit, counted, filter = {} }) {
      const found = await entries
        .find(matchesOf(integration, filter, before), { projection: shown })
        .hint('history')
        .sort({ integration: 1, _id: -1 })
        .skip(skip)
        .limit(limit)
        .toArray();
      const total = counted
        ? await entries.countDocuments(matchesOf(integration, filter), { hint: 'history' })
        : 0;
      return { runs: found.map(runOf), total };
    },
    async find({ integration }, syncId) {
      const entry = await entries.findOne(
        { _id: syncId, integration },
        { projection: { ...shown, errors: 1 } },
      );
      if (entry === null) return undefined;
      const { errors = [] } = entry;
      return {
        ...runOf(entry),
        errors: [...errors],
        errorsOmitted: Math.max(0, entry.failed - errors.length),
      };
    },
  };
}

/** A sync id begins with the start time of its push, so `since` becomes a bound of `_id`. */
function matchesOf(
  integration: string,
  { since, entityType, failed, client }: RunsFilter,
  before: string | null = null,
): Filter<Entry> {
  const ids = {
    ...(since === undefined ? {} : { $gte: syncIdsFrom(new Date(Date.parse(since) + 1)) }),
    ...(before === null ? {} : { $lt: before }),
  };
  return {
    integration,
    ...(Object.keys(ids).length === 0 ? {} : { _id: ids }),
    ...(entityType === undefined ? {} : { entityType }),
    ...(failed === undefined ? {} : { failed: { $gt: 0 } }),
    ...(client === undefined ? {} : { client }),
  };
}

const shown = {
  entityType: 1,
  client: 1,
  action: 1,
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
  action: entry.action ?? 'push',
  state: entry.state === 'writing' ? 'running' : 'completed',
  created: entry.created,
  updated: entry.updated,
  unchanged: entry.unchanged,
  failed: entry.failed,
  startedAt: entry.startedAt.toISOString(),
  completedAt: entry.state === 'writing' ? null : (entry.completedAt?.toISOString() ?? null),
  client: entry.client ?? null,
});

/** Answers requests of the service `catalog`, which lists the sync runs of catalog and batches. */
export const answerRuns =
  (journal: RunJournal): BusHandler =>
  async (request) => {
    const found = await journal.read(request, readQuestion(RunsQuestion, request.body));
    return { body: JSON.stringify(found), logFields: { entities: found.runs.length } };
  };

/** Answers requests of the service `catalog`, which shows a single sync run of catalog or batches. */
export const answerRun =
  (journal: RunJournal): BusHandler =>
  async (request) => {
    const found: RunAnswer = { run: (await journal.find(request, syncIdIn(request))) ?? null };
    return { body: JSON.stringify(found), logFields: {} };
  };

/** At most so many sync ids fit into the document of an endpoint. Only an outage of NATS leaves more pushes unannounced. */
const unannouncedMax = 500;

/** For webhooks: the pushes in phase `written`, which are answered, and whose events may not be published yet. */
export const answerUnannounced =
  (journal: Pick<Journal, 'unannounced'>): BusHandler =>
  async ({ integration }) => {
    const answer: UnannouncedRuns = { syncIds: await journal.unannounced(integration, unannouncedMax) };
    return { body: JSON.stringify(answer), logFields: { entities: answer.syncIds.length } };
  };

const syncIdIn = ({ headers }: BusRequest): string => headers.get(requestHeaders.id) ?? '';

/** Answers with one sync run, from the first journal that has it. */
export const getRun =
  (journals: readonly RunJournal[]): BusHandler =>
  async (request) => {
    const syncId = syncIdIn(request);
    for (const journal of journals) {
      const run = await journal.find(request, syncId);
      if (run !== undefined) return { body: JSON.stringify(run), logFields: { syncId } };
    }
    throw new Failure('not_found', 'There is no sync run with this id; a sync run is kept for 7 days.');
  };

const listed = 'sync-runs';

const readFilters: ReadFilters = (parameters, errors) => ({
  entityType: readOneOf(parameters, 'entityType', entityTypes, errors),
  failed: readOneOf(parameters, 'failed', ['true'], errors),
  client: readClient(parameters, errors),
});

function readClient(parameters: URLSearchParams, errors: FailureEntry[]): string | undefined {
  const client = readOnce(parameters, 'client', errors);
  if (client === undefined || (client !== '' && client.length <= limits.clientCharactersMax)) return client;
  const detail = `client: expected 1 to ${limits.clientCharactersMax} characters, got ${quote(client)}`;
  errors.push({ pointer: 'client', detail });
  return undefined;
}

function filterOf({ since, filters }: PageAsked): RunsFilter {
  const entityType = entityTypes.find((one) => one === filters['entityType']);
  return {
    ...(since === undefined ? {} : { since: since.toISOString() }),
    ...(entityType === undefined ? {} : { entityType }),
    ...(filters['failed'] === undefined ? {} : { failed: true }),
    ...(filters['client'] === undefined ? {} : { client: filters['client'] }),
  };
}

export const listRuns =
  (journals: readonly RunJournal[], cursorKey: Uint8Array): BusHandler =>
  async (request) => {
    const seal = { key: cursorKey, listing: watermarkKey(request.integration, listed) };
    const asked = readPageAsked(request, seal, readFilters);
    const { page, limit, after } = asked;
    const skip = skipOf(asked);
    const filter = filterOf(asked);
    const { entityType } = filter;
    const read = (counted: boolean): Promise<RunsFound> =>
      readNewest(
        journals
          .filter((journal) => entityType === undefined || journal.entityTypes.includes(entityType))
          .map((journal) => (question) => journal.read(request, { ...question, filter })),
        { before: after ?? null, skip, limit: limit + 1, counted },
      );
    const first = await read(asked.total === undefined);
    // The runs after the cursor have expired, or the integration was removed.
    const isGone = asked.total !== undefined && first.runs.length === 0;
    const { runs, total: counted } = isGone ? await read(true) : first;
    const entities = runs.slice(0, limit);
    const shownBy = (after === undefined ? skip : asked.shown) + entities.length;
    const total = asked.total === undefined || isGone ? counted : Math.max(asked.total, shownBy);
    refuseCursorOfRemoved(asked, total);
    const last = runs.length > limit ? entities.at(-1) : undefined;
    const answer: Listing<SyncRun> = { entities, total, page, limit };
    return {
      headers:
        last === undefined
          ? {}
          : { link: linkToNext(listed, seal, { ...asked, total, shown: shownBy }, last.syncId) },
      body: JSON.stringify(answer),
      logFields: { entities: entities.length, total },
    };
  };

// Merges the sync runs of several journals, newest first. A journal can return the run at a rank. For a deep page, a search by
// ranks finds how many runs of each journal to skip, with a few small queries instead of one long answer.

export type ReadRuns = (question: RunsQuestion) => Promise<RunsFound>;

export async function readNewest(
  sources: readonly ReadRuns[],
  {
    before,
    skip,
    limit,
    counted = true,
  }: Pick<RunsQuestion, 'before' | 'skip' | 'limit'> & { counted?: boolean },
): Promise<RunsFound> {
  const question = { before, skip: 0, limit: skip === 0 ? limit : 1, counted };
  const first = await Promise.all(sources.map((read) => read(question)));
  const total = first.reduce((sum, found) => sum + found.total, 0);
  const newest = mergeRuns(first);
  if (skip === 0 || newest[0] === undefined) return { runs: newest.slice(0, limit), total };
  if (skip >= total) return { runs: [], total };
  // Pushes that begin during the search must not shift the ranks.
  const upTo = `${newest[0].syncId}~`;
  const ends = await passOver(sources, upTo, skip);
  const found = await Promise.all(
    sources.map((read, index) => read({ before: ends[index] ?? upTo, skip: 0, limit, counted: false })),
  );
  return { runs: mergeRuns(found).slice(0, limit), total };
}

/**
 * By source, the oldest of its sync ids among the newest `count` runs of all sources, or `before`. Each probe begins where the
 * skipped runs of its source end, because a database reads all runs that a query skips.
 */
async function passOver(sources: readonly ReadRuns[], before: string, count: number): Promise<string[]> {
  const ends = sources.map(() => before);
  for (let left = count; left > 0;) {
    const step = Math.max(1, Math.floor(left / sources.length));
    const probes = await Promise.all(
      sources.map((read, index) =>
        read({ before: ends[index] ?? before, skip: step - 1, limit: 1, counted: false }),
      ),
    );
    // The next `step` runs of the source with the newest probe are skipped: all are among the newest `left` runs.
    const [winner] = mergeRuns(probes);
    if (winner === undefined) break;
    ends[probes.findIndex(({ runs }) => runs.includes(winner))] = winner.syncId;
    left -= step;
  }
  return ends;
}

const mergeRuns = (found: readonly RunsFound[]): SyncRun[] =>
  found.flatMap(({ runs }) => runs).toSorted((one, other) => (one.syncId < other.syncId ? 1 : -1));
