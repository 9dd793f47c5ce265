// The pushes that batches keeps in its own journal, for the listing of all.
import { requestHeaders, RunAnswer, RunsAnswer, subjects, type SyncRun } from '@integration-sync/contracts';
import type { Bus, BusRequest } from '@integration-sync/runtime/bus';
import { readAnswer, type RunJournal } from '@integration-sync/sync';

const timeoutMs = 5_000;

export const runsOfBatches = (bus: Bus): RunJournal => ({
  entityTypes: ['batch'],
  open: (asking, filter) => ({
    async read(question) {
      const isFiltered = Object.keys(filter).length > 0;
      const reply = await bus.request(isFiltered ? subjects.batchesRunsFind : subjects.batchesRunsList, {
        headers: headersOf(asking),
        body: JSON.stringify(isFiltered ? { ...question, filter } : question),
        timeoutMs,
        repeatable: true,
      });
      const { runs, total } = readAnswer(RunsAnswer, reply.body);
      return { runs: runs.map(withAction), total };
    },
  }),
  async find(asking, syncId) {
    const reply = await bus.request(subjects.batchesRunsGet, {
      headers: { ...headersOf(asking), [requestHeaders.id]: syncId },
      timeoutMs,
      repeatable: true,
    });
    const { run } = readAnswer(RunAnswer, reply.body);
    return run === null ? undefined : withAction(run);
  },
});

/** Of an earlier release no run says what it did; most are pushes. */
const withAction = <Run extends Partial<SyncRun>>(run: Run): Run & Pick<SyncRun, 'action'> => ({
  ...run,
  action: run.action ?? 'push',
});

type Asking = Pick<BusRequest, 'integration' | 'requestId' | 'traceparent'>;

const headersOf = ({ integration, requestId, traceparent }: Asking) => ({
  [requestHeaders.integration]: integration,
  [requestHeaders.requestId]: requestId,
  [requestHeaders.traceparent]: traceparent,
});
