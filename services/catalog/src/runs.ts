// The pushes that batches keeps in its own journal, for the listing of all.
import { requestHeaders, RunFound, RunsFound, subjects } from '@integration-sync/contracts';
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
      return readAnswer(RunsFound, reply.body);
    },
  }),
  async find(asking, syncId) {
    const reply = await bus.request(subjects.batchesRunsGet, {
      headers: { ...headersOf(asking), [requestHeaders.id]: syncId },
      timeoutMs,
      repeatable: true,
    });
    return readAnswer(RunFound, reply.body).run ?? undefined;
  },
});

type Asking = Pick<BusRequest, 'integration' | 'requestId' | 'traceparent'>;

const headersOf = ({ integration, requestId, traceparent }: Asking) => ({
  [requestHeaders.integration]: integration,
  [requestHeaders.requestId]: requestId,
  [requestHeaders.traceparent]: traceparent,
});
