// The sync runs of batches, which has its own journal, for catalog's listing of all sync runs.
import { RunAnswer, RunsAnswer, subjects, type SyncRun } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { askService, type RunJournal } from '@integration-sync/sync';

const timeoutMs = 5_000;

export const runsOfBatches = (bus: Bus): RunJournal => ({
  entityTypes: ['batch'],
  async read(asking, question) {
    const isFiltered = Object.keys(question.filter ?? {}).length > 0;
    const subject = isFiltered ? subjects.batchesRunsFind : subjects.batchesRunsList;
    const { runs, total } = await askService(bus, asking, {
      subject,
      body: question,
      timeoutMs,
      answer: RunsAnswer,
    });
    return { runs: runs.map(withAction), total };
  },
  async find(asking, id) {
    const { run } = await askService(bus, asking, {
      subject: subjects.batchesRunsGet,
      id,
      timeoutMs,
      answer: RunAnswer,
    });
    return run === null ? undefined : withAction(run);
  },
});

/** A sync run from batches of an earlier release has no action; most are pushes. */
const withAction = <Run extends Partial<SyncRun>>(run: Run): Run & Pick<SyncRun, 'action'> => ({
  ...run,
  action: run.action ?? 'push',
});
