// Asks the batches service for the sync runs in its journal: `GET /sync-runs` lists the runs of catalog and batches.
import { RunAnswer, RunsAnswer, subjects } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { askService, type RunJournal } from '@integration-sync/sync';

const timeoutMs = 5_000;

export const runsOfBatches = (bus: Bus): RunJournal => ({
  entityTypes: ['batch'],
  async read(asking, question) {
    const { runs, total } = await askService(bus, asking, {
      subject: subjects.batchesRunsList,
      body: question,
      timeoutMs,
      answer: RunsAnswer,
    });
    return { runs: runs.map((run) => withClient(run)), total };
  },
  async find(asking, id) {
    const { run } = await askService(bus, asking, {
      subject: subjects.batchesRunsGet,
      id,
      timeoutMs,
      answer: RunAnswer,
    });
    return run === null ? undefined : withClient(run);
  },
});

/** Adds `client: null` to a sync run without a client, as a service of release 1.1.0 answers. */
const withClient = <Run extends { client?: string | null }>(run: Run): Run & { client: string | null } => ({
  ...run,
  client: run.client ?? null,
});
